// The agent of `bench a2a` made with the official SDK for JavaScript: submitted, working, one artifact, completed; kept in memory.
//
// Each line on standard input is answered with where it listens. Argument: the folder that has `node_modules`.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const resolve = createRequire(join(folder, "package.json")).resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { TaskState } = await load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load("@a2a-js/sdk/server");
const { UserBuilder, jsonRpcHandler } = await load("@a2a-js/sdk/server/express");
const { default: express } = await load("express");
const version = JSON.parse(readFileSync(join(folder, "node_modules/@a2a-js/sdk/package.json"), "utf8")).version;

const now = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() });
const agent = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const tell = (state) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, metadata: undefined, status: now(state) }));
    bus.publish(AgentEvent.task({
      id: taskId, contextId, status: now(TaskState.TASK_STATE_SUBMITTED), history: [userMessage], artifacts: [], metadata: undefined,
    }));
    tell(TaskState.TASK_STATE_WORKING);
    const part = { content: { $case: "text", value: "Stream hello from TCK" }, metadata: undefined, filename: "", mediaType: "" };
    bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append: false, lastChunk: true, metadata: undefined,
      artifact: { artifactId: crypto.randomUUID(), name: "output", description: "", parts: [part], extensions: [], metadata: undefined },
    }));
    tell(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const listener = app.listen(0, "127.0.0.1", () => {
  const address = `127.0.0.1:${listener.address().port}`;
  const card = {
    name: "Bench", description: "Answers.", version: "1.0.0", provider: undefined,
    supportedInterfaces: [{ url: `http://${address}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" }],
    capabilities: { streaming: true, extensions: [] }, securitySchemes: {}, securityRequirements: [], signatures: [],
    defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], skills: [],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), agent);
  app.use("/", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  createInterface({ input: process.stdin }).on("line", () => {
    console.log(JSON.stringify({ address, path: "/", version: `@a2a-js/sdk ${version}` }));
  });
});
listener.keepAliveTimeout = 600_000;
