// An agent made with the official SDK for JavaScript: JSON-RPC at /rpc, HTTP+JSON at /rest. Says where it listens.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, binding] = process.argv.slice(2);
const resolve = createRequire(folder + "/package.json").resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href);
const { Role, TaskState } = await load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = await load("@a2a-js/sdk/server/express");
const { default: express } = await load("express");

const part = (text) => ({ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain" });
const waiting = new Map();

const painter = {
  async execute({ userMessage, taskId, contextId, task }, bus) {
    const words = userMessage.parts.map((part) => part.content?.value ?? "").join("");
    const said = (text) => ({
      messageId: crypto.randomUUID(), role: Role.ROLE_AGENT, parts: [part(text)], taskId, contextId,
      extensions: [], referenceTaskIds: [], metadata: undefined,
    });
    const tell = (state, text) => bus.publish(AgentEvent.statusUpdate({
      taskId, contextId, metadata: undefined,
      status: { state, message: text ? said(text) : undefined, timestamp: new Date().toISOString() },
    }));
    const paint = (text, append, lastChunk) => bus.publish(AgentEvent.artifactUpdate({
      taskId, contextId, append, lastChunk, metadata: undefined,
      artifact: { artifactId: "a1", name: "", description: "", parts: [part(text)], extensions: [], metadata: undefined },
    }));
    // Its bus wants the task first, and of one that goes on a state in which it works again.
    const state = task ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED;
    const status = { state, message: undefined, timestamp: new Date().toISOString() };
    if (task) {
      bus.publish(AgentEvent.task({ ...task, status }));
    } else {
      bus.publish(AgentEvent.task({ id: taskId, contextId, status, history: [userMessage], artifacts: [], metadata: undefined }));
    }
    if (words === "ask me") {
      tell(TaskState.TASK_STATE_INPUT_REQUIRED, "Which colour?");
      return bus.finished();
    }
    tell(TaskState.TASK_STATE_WORKING, "mixing colours");
    if (words === "for ever") {
      await new Promise((stop) => waiting.set(taskId, stop));
      tell(TaskState.TASK_STATE_CANCELED);
      return bus.finished();
    }
    if (words === "fail") {
      tell(TaskState.TASK_STATE_FAILED, "no more paint");
      return bus.finished();
    }
    paint(`painted: ${words} `, false, false);
    paint(JSON.stringify(userMessage.metadata), true, true);
    tell(TaskState.TASK_STATE_COMPLETED);
    bus.finished();
  },
  async cancelTask(taskId) {
    waiting.get(taskId)?.();
  },
};

const app = express();
const listener = app.listen(0, "127.0.0.1", () => {
  const base = `http://127.0.0.1:${listener.address().port}`;
  const url = base + (binding === "JSONRPC" ? "/rpc" : "/rest");
  const card = {
    name: "Painter", description: "Paints pictures.", version: "1.0.0", provider: undefined,
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0", tenant: "" }],
    capabilities: { streaming: true, extensions: [] }, securitySchemes: {}, securityRequirements: [], signatures: [],
    defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    skills: [{ id: "paint", name: "Paint", description: "Paints a picture.", tags: ["art"], examples: [], inputModes: [],
      outputModes: [], securityRequirements: [] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), painter);
  const userBuilder = UserBuilder.noAuthentication;
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
  app.use("/rest", restHandler({ requestHandler, userBuilder }));
  console.log(base);
});
