"""A peer of `bench extract`: trafilatura, as it comes. A line asks for one round over all pages."""

import gzip
import json
import sys
import time
from importlib import metadata
from pathlib import Path

import trafilatura

folder = Path(sys.argv[1])
names = sorted(json.loads((folder / "ground-truth.json").read_text(encoding="utf-8")))
files = [folder / "html" / f"{name}.html.gz" for name in names]
pages = [gzip.decompress(file.read_bytes()) for file in files if file.exists()]

for line in sys.stdin:
    if line.strip() == "version":
        print(json.dumps(f"trafilatura {metadata.version('trafilatura')}"), flush=True)
        continue
    begun = time.perf_counter()
    texts = [trafilatura.extract(page, include_comments=False) or "" for page in pages]
    took = time.perf_counter() - begun
    print(json.dumps({"ms_per_page": took * 1000 / len(pages), "texts": texts}), flush=True)
