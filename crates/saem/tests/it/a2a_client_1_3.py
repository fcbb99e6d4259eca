"""The Python SDK of 1.0 talks with the agent for kits, over one of its bindings; every line says what holds."""

import asyncio
import json
import sys

import grpc
import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

BASE, BINDING, VERSION = sys.argv[1:4]


def check(name, holds, seen=""):
    print(json.dumps({"check": name, "holds": bool(holds), "seen": str(seen)[:300]}), flush=True)


def request(message_id, task_id=""):
    message = Message(
        message_id=message_id, role=Role.ROLE_USER, parts=[Part(text="hi")], task_id=task_id
    )
    return SendMessageRequest(message=message)


async def refused(name, call):
    try:
        await call
        check(name, False, "no error")
    except Exception as error:
        # Over gRPC and HTTP, 0.3 says it in words alone.
        words = {"TaskNotFoundError": "not found", "TaskNotCancelableError": "cancel"}[name]
        is_said = VERSION != "1.0" and words in str(error).lower() or "409" in str(error)
        check(name, type(error).__name__ == name or is_said, repr(error))


async def main():
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, BASE).get_agent_card()
        check("card", card.name == "Saem", card.name)
        offered = [one for one in card.supported_interfaces if one.protocol_version == VERSION]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(offered)

        def client(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_protocol_bindings=[BINDING],
                grpc_channel_factory=grpc.aio.insecure_channel,
            )
            return ClientFactory(config).create(card)

        async def told(streaming, message_id):
            return [one async for one in client(streaming).send_message(request(message_id))]

        whole = await told(False, "tck-artifact-text")
        check("send", whole[-1].task.status.state == TaskState.TASK_STATE_COMPLETED, whole)
        text = whole[-1].task.artifacts[0].parts[0].text
        check("artifact", text == "Generated text content", text)
        direct = await told(False, "tck-message-response")
        check("message", direct[-1].message.parts[0].text == "Direct message response", direct)
        events = await told(True, "tck-stream-artifact-chunked")
        kinds = [one.WhichOneof("payload") for one in events]
        wanted = ["task", "status_update", "artifact_update", "artifact_update", "status_update"]
        check("stream", kinds == wanted, kinds)

        agent = client(False)
        asked = (await told(False, "tck-input-required"))[-1].task
        check("input", asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, asked)
        got = await agent.get_task(GetTaskRequest(id=asked.id))
        check("get", got.id == asked.id, got)
        if VERSION == "1.0":
            listed = await agent.list_tasks(ListTasksRequest(page_size=1))
            check("list", listed.total_size == 3 and listed.next_page_token, listed)
        hook = TaskPushNotificationConfig(task_id=asked.id, id="h", url="https://example.com/x")
        made = await agent.create_task_push_notification_config(hook)
        check("push", made.url == hook.url, made)
        wanted = GetTaskPushNotificationConfigRequest(task_id=asked.id, id=made.id)
        known = await agent.get_task_push_notification_config(wanted)
        check("get push", known.url == hook.url, known)
        try:
            pushes = await agent.list_task_push_notification_configs(
                ListTaskPushNotificationConfigsRequest(task_id=asked.id)
            )
            check("list push", len(pushes.configs) == 1, pushes)
            gone = DeleteTaskPushNotificationConfigRequest(task_id=asked.id, id=made.id)
            await agent.delete_task_push_notification_config(gone)
            check("delete push", True)
        except NotImplementedError as error:
            # This SDK does not do it in 0.3 over HTTP.
            check("no list", (BINDING, VERSION) == ("HTTP+JSON", "0.3"), error)
        done = [one async for one in agent.send_message(request("tck-complete-task", asked.id))]
        check("further", done[-1].task.status.state == TaskState.TASK_STATE_COMPLETED, done)
        extended = await agent.get_extended_agent_card(GetExtendedAgentCardRequest())
        check("extended card", extended.name == "Saem", extended)

        async for one in client(True).send_message(request("tck-cancel")):
            endless = one.task.id if one.HasField("task") else endless
            if one.HasField("status_update"):
                break
        watched = []

        async def watch():
            async for one in client(True).subscribe(SubscribeToTaskRequest(id=endless)):
                watched.append(one)

        watching = asyncio.create_task(watch())
        while not watched and not watching.done():
            await asyncio.sleep(0.01)
        cancelled = await agent.cancel_task(CancelTaskRequest(id=endless))
        check("cancel", cancelled.status.state == TaskState.TASK_STATE_CANCELED, cancelled)
        await watching
        last = watched[-1].status_update.status.state
        check("resubscribe", last == TaskState.TASK_STATE_CANCELED, watched)
        await refused("TaskNotFoundError", agent.get_task(GetTaskRequest(id="nothing")))
        await refused("TaskNotCancelableError", agent.cancel_task(CancelTaskRequest(id=endless)))


asyncio.run(main())
