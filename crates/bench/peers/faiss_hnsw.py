"""The peer of `bench search`: an HNSW index of faiss-cpu on one thread.

Arguments: a file of vectors and one of questions, both rows of little-endian 32-bit numbers.
Lines on standard input: `build DIMENSIONS`, `tune RECALL`, `round`; each answer is a line of JSON.
"""

import json
import os
import sys
import tempfile
import time

import faiss
import numpy as np

NEIGHBOURS = 10
LINKS = 32
EF_CONSTRUCTION = 200
EF_SEARCH = [16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768]

faiss.omp_set_num_threads(1)
vectors = questions = index = truth = None


def build(dimensions: int) -> dict:
    global vectors, questions, index, truth
    vectors = np.fromfile(sys.argv[1], dtype="<f4").reshape(-1, dimensions)
    questions = np.fromfile(sys.argv[2], dtype="<f4").reshape(-1, dimensions)
    index = faiss.IndexHNSWFlat(dimensions, LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = EF_CONSTRUCTION
    # Building may use all cores, as its users would; searching is measured on one.
    faiss.omp_set_num_threads(os.cpu_count())
    start = time.perf_counter()
    index.add(vectors)
    seconds = time.perf_counter() - start
    exact = faiss.IndexFlatIP(dimensions)
    exact.add(vectors)
    truth = exact.search(questions, NEIGHBOURS)[1]
    faiss.omp_set_num_threads(1)
    with tempfile.NamedTemporaryFile() as file:
        faiss.write_index(index, file.name)
        disk = os.path.getsize(file.name)
    return {"seconds": seconds, "disk_mebibytes": disk / 2**20, "truth": truth.tolist()}


def recall(found) -> float:
    hits = sum(len(set(a) & set(b)) for a, b in zip(found.tolist(), truth.tolist()))
    return hits / truth.size


def tune(wanted: float) -> dict:
    for ef in EF_SEARCH:
        index.hnsw.efSearch = ef
        reached = recall(index.search(questions, NEIGHBOURS)[1])
        if reached >= wanted:
            break
    return {"ef": ef, "recall": reached}


def one_round() -> dict:
    times = []
    for question in questions:
        start = time.perf_counter()
        index.search(question[None], NEIGHBOURS)
        times.append(time.perf_counter() - start)
    # All at once, so that Python's own cost for each call does not count against the peer.
    start = time.perf_counter()
    index.search(questions, NEIGHBOURS)
    seconds = time.perf_counter() - start
    times.sort()
    return {
        "queries_per_second": len(questions) / seconds,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[int(len(times) * 0.99)] * 1000,
    }


for line in sys.stdin:
    command, *rest = line.split()
    if command == "build":
        answer = build(int(rest[0]))
    elif command == "tune":
        answer = tune(float(rest[0]))
    else:
        answer = one_round()
    print(json.dumps(answer), flush=True)
