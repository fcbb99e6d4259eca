# An agent made with the official SDK for A2A 0.3, over JSON-RPC or HTTP+JSON. Says where it listens.
import asyncio
import json
import socket
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task


def said(text):
    return Part(root=TextPart(text=text))


class Painter(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        words = context.get_user_input()
        if words == "ask me":
            await updater.requires_input(updater.new_agent_message([said("Which colour?")]), final=True)
            return
        await updater.start_work(updater.new_agent_message([said("mixing colours")]))
        if words == "for ever":
            await asyncio.Event().wait()
        if words == "fail":
            await updater.failed(updater.new_agent_message([said("no more paint")]))
            return
        noted = json.dumps(context.message.metadata, sort_keys=True)
        await updater.add_artifact([said(f"painted: {words} ")], artifact_id="a1", append=False, last_chunk=False)
        await updater.add_artifact([said(noted)], artifact_id="a1", append=True, last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(64)
base = f"http://127.0.0.1:{listener.getsockname()[1]}"
described = AgentCard(
    name="Old Painter",
    description="Paints pictures as one did.",
    version="1.0.0",
    url=base,
    preferred_transport=sys.argv[1],
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="paint", name="Paint", description="Paints a picture.", tags=["art"])],
)
handler = DefaultRequestHandler(agent_executor=Painter(), task_store=InMemoryTaskStore())
application = {"JSONRPC": A2AStarletteApplication, "HTTP+JSON": A2ARESTFastAPIApplication}[sys.argv[1]]
app = application(agent_card=described, http_handler=handler).build()
print(base, flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
