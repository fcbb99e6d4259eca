# An agent made with the official SDK for A2A 1.0: JSON-RPC at /, HTTP+JSON at /rest. Says where it listens.
import socket
import sys

import uvicorn
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from starlette.applications import Starlette

from a2a_painter import Painter, card

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(64)
base = f"http://127.0.0.1:{listener.getsockname()[1]}"
described = card(base + {"JSONRPC": "/", "HTTP+JSON": "/rest"}[sys.argv[1]], sys.argv[1])
handler = DefaultRequestHandler(agent_executor=Painter(), task_store=InMemoryTaskStore(), agent_card=described)
routes = [
    *create_agent_card_routes(described, cache_control="max-age=60"),
    *create_jsonrpc_routes(handler, "/"),
    *create_rest_routes(handler, path_prefix="/rest"),
]
print(base, flush=True)
uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error")).run(sockets=[listener])
