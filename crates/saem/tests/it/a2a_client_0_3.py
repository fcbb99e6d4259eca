"""The Python SDK of 0.3 talks with the agent for kits, over one of its transports; every line says what holds."""

import asyncio
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TaskState,
    TextPart,
)

BASE, TRANSPORT = sys.argv[1:3]


def check(name, holds, seen=""):
    print(json.dumps({"check": name, "holds": bool(holds), "seen": str(seen)[:300]}), flush=True)


def message(message_id, task_id=None):
    part = Part(root=TextPart(text="hi"))
    return Message(message_id=message_id, role=Role.user, parts=[part], task_id=task_id)


async def main():
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE).get_agent_card()
        check("card", card.name == "Saem" and card.protocol_version == "0.3.0", card)

        def client(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_transports=[TRANSPORT],
                use_client_preference=True,
            )
            return ClientFactory(config).create(card)

        agent = client(False)
        (task, _), *_ = [one async for one in agent.send_message(message("tck-artifact-text"))]
        check("send", task.status.state == TaskState.completed, task)
        text = task.artifacts[0].parts[0].root.text
        check("artifact", text == "Generated text content", text)
        told = [one async for one in client(True).send_message(message("tck-stream-001"))]
        check("stream", len(told) == 4 and told[-1][0].status.state == TaskState.completed, told)
        (asked, _), *_ = [one async for one in agent.send_message(message("tck-input-required"))]
        check("input", asked.status.state == TaskState.input_required, asked)
        got = await agent.get_task(TaskQueryParams(id=asked.id))
        check("get", got.id == asked.id, got)
        hook = PushNotificationConfig(id="h", url="https://example.com/x")
        made = await agent.set_task_callback(
            TaskPushNotificationConfig(task_id=asked.id, push_notification_config=hook)
        )
        check("push", made.push_notification_config.url == hook.url, made)
        wanted = GetTaskPushNotificationConfigParams(id=asked.id, push_notification_config_id="h")
        known = await agent.get_task_callback(wanted)
        check("get push", known.push_notification_config.url == hook.url, known)
        cancelled = await agent.cancel_task(TaskIdParams(id=asked.id))
        check("cancel", cancelled.status.state == TaskState.canceled, cancelled)
        try:
            await agent.get_task(TaskQueryParams(id="nothing"))
            check("absent", False)
        except Exception as error:
            check("absent", "-32001" in str(error) or "404" in str(error), error)


asyncio.run(main())
