"""The tools of `bench mcp` served by FastMCP: the same definitions and the same answer as Saem's, ready in memory.

Each line on standard input is answered with where it listens. The first argument is a file with the tools and the answer; a second
one is the address of a server that stands behind this one, which then is a proxy.
"""

import asyncio
import json
import logging
import socket
import sys
import threading
from pathlib import Path

import fastmcp
from fastmcp import FastMCP
from fastmcp.server import create_proxy
from fastmcp.tools import Tool, ToolResult
from mcp.types import TextContent, ToolAnnotations

MATERIAL = json.loads(Path(sys.argv[1]).read_text())
ANSWER = MATERIAL["answer"]
# The proxy would complain at every call of how the server behind it says goodbye.
logging.getLogger("mcp").setLevel(logging.ERROR)


class Ready(Tool):
    async def run(self, arguments: dict) -> ToolResult:
        content = [TextContent(type="text", text=block["text"]) for block in ANSWER["content"]]
        return ToolResult(content=content, structured_content=ANSWER["structuredContent"])


def server() -> FastMCP:
    if len(sys.argv) > 2:
        # In the new era this version's proxy refuses its own calls.
        return create_proxy(sys.argv[2], mode="legacy")
    made = FastMCP("bench")
    for tool in MATERIAL["tools"]:
        made.add_tool(
            Ready(
                name=tool["name"],
                title=tool["title"],
                description=tool["description"],
                parameters=tool["inputSchema"],
                output_schema=tool["outputSchema"],
                annotations=ToolAnnotations(**tool["annotations"]),
            )
        )
    return made


def answer_lines(address: str) -> None:
    for _line in sys.stdin:
        print(json.dumps({"address": address, "version": f"FastMCP {fastmcp.__version__}"}), flush=True)


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=answer_lines, args=("%s:%d" % listener.getsockname(),), daemon=True).start()
asyncio.run(
    server().run_http_async(
        show_banner=False, log_level="error", json_response=True, stateless_http=True, sockets=[listener]
    )
)
