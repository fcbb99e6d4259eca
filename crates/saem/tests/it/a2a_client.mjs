// The JavaScript SDK talks with the agent for kits, over one of its bindings; every line says what holds.
//
//     a2a_client.mjs PACKAGES BASE BINDING

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, base, binding] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(packages, "@a2a-js/sdk/dist", file)));
const { ClientFactory, ClientFactoryOptions } = await load("client/index.js");

const check = (name, holds, seen) => console.log(`{"check": "${name}", "holds": ${Boolean(holds)}} ${holds ? "" : JSON.stringify(seen)}`);

const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] });
const client = await new ClientFactory(options).createFromUrl(base);
const USER = 1;
const request = (messageId, taskId = "") => ({
  tenant: "",
  message: {
    messageId: `${messageId}-${randomUUID()}`, contextId: "", taskId, role: USER, metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: "text", value: "hi" }, metadata: undefined, filename: "", mediaType: "" }],
  },
  configuration: undefined,
  metadata: undefined,
});
const state = (task) => task.status.state;
const [COMPLETED, CANCELED, INPUT_REQUIRED] = [3, 5, 6];

const task = await client.sendMessage(request("tck-artifact-text"));
check("send", state(task) === COMPLETED, task);
check("artifact", JSON.stringify(task.artifacts).includes("Generated text content"), task);
const direct = await client.sendMessage(request("tck-message-response"));
check("message", JSON.stringify(direct).includes("Direct message response"), direct);
const kinds = [];
for await (const event of client.sendMessageStream(request("tck-stream-artifact-chunked"))) kinds.push(event.payload.$case);
check("stream", kinds.join() === "task,statusUpdate,artifactUpdate,artifactUpdate,statusUpdate", kinds);
const asked = await client.sendMessage(request("tck-input-required"));
check("input", state(asked) === INPUT_REQUIRED, asked);
const got = await client.getTask({ tenant: "", id: asked.id, historyLength: undefined });
check("get", got.id === asked.id, got);
const hook = { tenant: "", id: "h", taskId: asked.id, url: "https://example.com/x", token: "", authentication: undefined };
const made = await client.createTaskPushNotificationConfig(hook);
check("push", made.url === hook.url, made);
const known = await client.getTaskPushNotificationConfig({ tenant: "", taskId: asked.id, id: "h" });
check("get push", known.url === hook.url, known);
const cancelled = await client.cancelTask({ tenant: "", id: asked.id, metadata: undefined });
check("cancel", state(cancelled) === CANCELED, cancelled);
try {
  await client.getTask({ tenant: "", id: "nothing", historyLength: undefined });
  check("absent", false);
} catch (error) {
  check("absent", /not found/i.test(String(error.message)), String(error));
}
