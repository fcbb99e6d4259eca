# The agent that the servers beside this file serve, made with the official SDK for A2A 1.0: what it does, and its card.
import asyncio
import json

from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.tasks import TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part
from google.protobuf.json_format import MessageToDict


class Painter(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        words = context.get_user_input()
        noted = MessageToDict(context.message.metadata)
        if words == "ask me":
            question = updater.new_agent_message([Part(text="Which colour?")])
            await updater.requires_input(question)
            return
        await updater.start_work(updater.new_agent_message([Part(text="mixing colours")]))
        if words == "for ever":
            await asyncio.Event().wait()
        if words == "fail":
            await updater.failed(updater.new_agent_message([Part(text="no more paint")]))
            return
        text = f"painted: {words} "
        await updater.add_artifact([Part(text=text)], artifact_id="a1", append=False, last_chunk=False)
        await updater.add_artifact([Part(text=json.dumps(noted, sort_keys=True))], artifact_id="a1", append=True, last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.cancel()


def card(url, binding):
    return AgentCard(
        name="Painter",
        description="Paints pictures.",
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="paint", name="Paint", description="Paints a picture.", tags=["art"])],
    )
