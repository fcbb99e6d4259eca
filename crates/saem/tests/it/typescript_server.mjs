// A server of tools made with the TypeScript SDK that grows another tool when it is told to; over standard input and output, in both eras.
//
//     typescript_server.mjs PACKAGES [old]      with `old` it knows nothing of the new era

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, era] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(packages, "@modelcontextprotocol/server/dist", file)));
const { McpServer, fromJsonSchema } = await load("index.mjs");
const { StdioServerTransport, serveStdio } = await load("stdio.mjs");

const inputSchema = fromJsonSchema({ type: "object", properties: {} });
const said = (text) => ({ content: [{ type: "text", text }] });

function build() {
  const server = new McpServer({ name: "garden", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  const grown = { description: "Was not there before.", inputSchema, annotations: { readOnlyHint: true } };
  server.registerTool("grow", { description: "Adds a tool.", inputSchema }, () => {
    server.registerTool("grown", grown, () => said("grown up"));
    return said("there is one more");
  });
  return server;
}

if (era === "old") {
  await build().connect(new StdioServerTransport());
} else {
  serveStdio(build);
}
