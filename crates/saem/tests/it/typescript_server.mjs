// A server of tools made with the TypeScript SDK, in both eras: it grows another tool, waters a plant that clients follow, asks for a
// model's answer and for a form, and waits until its call is taken back.
//
//     typescript_server.mjs PACKAGES          over standard input and output
//     typescript_server.mjs PACKAGES old      the same, knowing nothing of the new era
//     typescript_server.mjs PACKAGES http     over HTTP; the first line on standard output is the address

import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, way] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(packages, "@modelcontextprotocol", file)));
const { McpServer, acceptedContent, createMcpHandler, fromJsonSchema, inputRequired, inputResponse } =
  await load("server/dist/index.mjs");
const { StdioServerTransport, serveStdio } = await load("server/dist/stdio.mjs");

const schema = (properties = {}) => fromJsonSchema({ type: "object", properties });
const said = (text) => ({ content: [{ type: "text", text }] });
const PLANT = "garden://plant";
const question = { messages: [{ role: "user", content: { type: "text", text: "What shall I plant?" } }], maxTokens: 50 };
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

let height = 1;
let hasGrown = false;
/** Tells clients of the new era over HTTP, who listen on a stream of their own. */
let notify;

function build() {
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
  const server = new McpServer({ name: "garden", version: "1" }, { capabilities });
  const reads = { readOnlyHint: true, openWorldHint: false };
  const grown = () => {
    const about = { description: "Was not there before.", inputSchema: schema(), annotations: reads };
    server.registerTool("grown", about, () => said("grown up"));
  };
  server.registerTool("grow", { description: "Adds a tool.", inputSchema: schema() }, () => {
    hasGrown = true;
    if (notify) notify.toolsChanged();
    else grown();
    return said("there is one more");
  });
  // Over HTTP every request has a server of its own.
  if (hasGrown && way === "http") grown();

  server.registerTool("water", { description: "Waters the plant.", inputSchema: schema() }, async () => {
    height += 1;
    if (notify) notify.resourceUpdated(PLANT);
    else await server.server.sendResourceUpdated({ uri: PLANT });
    return said("watered");
  });
  server.registerResource("plant", PLANT, { mimeType: "text/plain" }, () => ({
    contents: [{ uri: PLANT, mimeType: "text/plain", text: `${height} cm` }],
  }));
  server.server.setRequestHandler("resources/subscribe", () => ({}));

  server.registerTool("plan", { description: "Asks a model.", inputSchema: schema() }, (_given, context) => {
    const answer = inputResponse(context.mcpReq.inputResponses, "plan");
    if (answer.kind === "sampling") return said(`planned: ${answer.result.content.text}`);
    return inputRequired({ inputRequests: { plan: inputRequired.createMessage(question) } });
  });
  server.registerTool("name", { description: "Asks for a name.", inputSchema: schema() }, (_given, context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, "name");
    if (answer) return said(`named ${answer.name}`);
    const request = inputRequired.elicit({ message: "What is it called?", requestedSchema: form });
    return inputRequired({ inputRequests: { name: request } });
  });

  const waiting = { description: "Waits.", inputSchema: schema({ file: { type: "string" } }), annotations: reads };
  server.registerTool("wait", waiting, async ({ file }, context) => {
    writeFileSync(file, "waiting");
    const { signal } = context.mcpReq;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    writeFileSync(file, "taken back");
    return said("nobody hears this");
  });
  return server;
}

if (way === "http") {
  const { toNodeHandler } = await load("node/dist/index.mjs");
  const handler = createMcpHandler(build);
  notify = handler.notify;
  const listener = createServer(toNodeHandler(handler));
  listener.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
} else if (way === "old") {
  await build().connect(new StdioServerTransport());
} else {
  serveStdio(build);
}
