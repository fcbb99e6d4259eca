"""The peer of `bench ingest`: a LlamaIndex pipeline that makes a folder searchable with BM25 and keeps it on disk.

Each line on standard input names a folder; each line of output is JSON with what one pass over it took. The pipeline is the
one of LlamaIndex's guides: its directory reader with its own readers for both formats, its ingestion pipeline with a document
store (so that a second run skips what has not changed, as Saem does), its sentence splitter, its BM25 retriever, all persisted.
"""

import json
import resource
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

from llama_index.core import SimpleDirectoryReader
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.readers.file import HTMLTagReader, MarkdownReader
from llama_index.retrievers.bm25 import BM25Retriever


def run(folder: str) -> dict:
    files = len(list(Path(folder).iterdir()))
    with tempfile.TemporaryDirectory() as kept:
        wall, cpu = time.perf_counter(), time.process_time()
        readers = {".md": MarkdownReader(), ".html": HTMLTagReader(tag="article", ignore_no_id=False)}
        documents = SimpleDirectoryReader(folder, file_extractor=readers, filename_as_id=True).load_data()
        pipeline = IngestionPipeline(
            # The size that Saem fills its chunks to.
            transformations=[SentenceSplitter(chunk_size=320, chunk_overlap=0)],
            docstore=SimpleDocumentStore(),
        )
        nodes = pipeline.run(documents=documents)
        retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=10)
        pipeline.persist(kept)
        retriever.persist(kept)
        seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    found = retriever.retrieve("storage cost")
    return {
        "documents": files,
        "chunks": len(nodes),
        "found": len(found),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "resident_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def version() -> str:
    return f"llama-index-core {metadata.version('llama-index-core')}"


for line in sys.stdin:
    asked = line.strip()
    print(json.dumps(version() if asked == "version" else run(asked)), flush=True)
