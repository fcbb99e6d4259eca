// The tools of `bench mcp` served by the TypeScript SDK: the same definitions and the same answer as Saem's, ready in memory.
//
// Each line on standard input is answered with where it listens. Arguments: a file with the tools and the answer, and the folder of
// the packages.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [materialFile, packages] = process.argv.slice(2);
const material = JSON.parse(readFileSync(materialFile, "utf8"));
const load = (file) => import(pathToFileURL(join(packages, "@modelcontextprotocol", file)));
const { Server, createMcpHandler } = await load("server/dist/index.mjs");
const { toNodeHandler } = await load("node/dist/index.mjs");
const version = JSON.parse(readFileSync(join(packages, "@modelcontextprotocol/server/package.json"), "utf8")).version;

function build() {
  const server = new Server({ name: "bench", version }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: material.tools }));
  server.setRequestHandler("tools/call", () => material.answer);
  return server;
}

const listener = createServer(toNodeHandler(createMcpHandler(build, { responseMode: "json" })));
listener.keepAliveTimeout = 600_000;
listener.listen(0, "127.0.0.1", () => {
  const { address, port } = listener.address();
  createInterface({ input: process.stdin }).on("line", () => {
    console.log(JSON.stringify({ address: `${address}:${port}`, version: `TypeScript SDK ${version}` }));
  });
});
