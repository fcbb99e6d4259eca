"""The Python SDK of 0.2 talks with the agent for kits; every line says what holds."""

import asyncio
import json
import sys
import warnings

import httpx
from a2a.client import A2ACardResolver, A2AClient
from a2a.types import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigParams,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    Message,
    MessageSendParams,
    Part,
    PushNotificationConfig,
    Role,
    SendMessageRequest,
    SendStreamingMessageRequest,
    SetTaskPushNotificationConfigRequest,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)

warnings.simplefilter("ignore")
BASE = sys.argv[1]


def check(name, holds, seen=""):
    print(json.dumps({"check": name, "holds": bool(holds), "seen": str(seen)[:300]}), flush=True)


def params(message_id):
    part = Part(root=TextPart(text="hi"))
    return MessageSendParams(message=Message(message_id=message_id, role=Role.user, parts=[part]))


async def main():
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE).get_agent_card()
        check("card", card.name == "Saem" and card.url.endswith("/a2a"), card)
        agent = A2AClient(http, agent_card=card)

        async def sent(message_id):
            answer = await agent.send_message(SendMessageRequest(id="1", params=params(message_id)))
            return answer.root.result

        task = await sent("tck-artifact-text")
        check("send", task.artifacts[0].parts[0].root.text == "Generated text content", task)
        streaming = SendStreamingMessageRequest(id="2", params=params("tck-stream-001"))
        told = [one.root.result async for one in agent.send_message_streaming(streaming)]
        check("stream", len(told) == 4 and told[-1].final, told)
        task = await sent("tck-input-required")
        check("input", task.status.state.value == "input-required", task)
        got = await agent.get_task(GetTaskRequest(id="3", params=TaskQueryParams(id=task.id)))
        check("get", got.root.result.id == task.id, got)
        hook = TaskPushNotificationConfig(
            task_id=task.id,
            push_notification_config=PushNotificationConfig(url="https://example.com/x"),
        )
        made = await agent.set_task_callback(
            SetTaskPushNotificationConfigRequest(id="4", params=hook)
        )
        check("push", "example.com" in made.model_dump_json(), made)
        wanted = GetTaskPushNotificationConfigParams(id=task.id)
        known = await agent.get_task_callback(
            GetTaskPushNotificationConfigRequest(id="5", params=wanted)
        )
        check("get push", "example.com" in known.model_dump_json(), known)
        gone = await agent.cancel_task(CancelTaskRequest(id="6", params=TaskIdParams(id=task.id)))
        check("cancel", gone.root.result.status.state.value == "canceled", gone)
        absent = await agent.get_task(GetTaskRequest(id="7", params=TaskQueryParams(id="nothing")))
        check("absent", absent.root.error.code == -32001, absent)


asyncio.run(main())
