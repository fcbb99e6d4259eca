# The agent of `bench a2a` made with the official SDK for Python: submitted, working, one artifact, completed; kept in memory, or in the file of
# SQLite that is named as its argument.
#
# Each line on standard input is answered with where it listens.
import contextlib
import importlib.metadata
import json
import socket
import sys
import threading

import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from starlette.applications import Starlette


class Agent(AgentExecutor):
    async def execute(self, context, event_queue):
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await updater.add_artifact([Part(text="Stream hello from TCK")], name="output")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(64)
address = f"127.0.0.1:{listener.getsockname()[1]}"
card = AgentCard(
    name="Bench",
    description="Answers.",
    version="1.0.0",
    supported_interfaces=[AgentInterface(url=f"http://{address}/", protocol_binding="JSONRPC", protocol_version="1.0")],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="answer", name="Answer", description="Answers.", tags=["bench"])],
)
version = f"a2a-sdk {importlib.metadata.version('a2a-sdk')}"
if len(sys.argv) > 1:
    from a2a.server.tasks import DatabaseTaskStore
    from sqlalchemy.ext.asyncio import create_async_engine

    # One connection: of several that write at once SQLite refuses all but one, and the caller gets an error.
    engine = create_async_engine(f"sqlite+aiosqlite:///{sys.argv[1]}", pool_size=1, max_overflow=0)
    tasks = DatabaseTaskStore(engine)
    version += " with SQLite"
else:
    tasks = InMemoryTaskStore()
handler = DefaultRequestHandler(agent_executor=Agent(), task_store=tasks, agent_card=card)


def answer_lines():
    for _line in sys.stdin:
        print(json.dumps({"address": address, "path": "/", "version": version}), flush=True)


threading.Thread(target=answer_lines, daemon=True).start()


@contextlib.asynccontextmanager
async def lifespan(_app):
    # Else the first callers make its table at the same time, and all but one fail.
    if hasattr(tasks, "initialize"):
        await tasks.initialize()
    yield


app = Starlette(routes=create_jsonrpc_routes(handler, "/"), lifespan=lifespan)
uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=600)).run(sockets=[listener])
