"""A server of tools made with FastMCP, as other people make theirs.

    fastmcp_server.py stdio
    fastmcp_server.py http      the first line on standard output is the address
"""

import asyncio
import socket
import sys

from pathlib import Path

from fastmcp import Context, FastMCP
from mcp.types import (
    CreateMessageRequest,
    ElicitRequest,
    InputRequiredResult,
    ToolAnnotations,
)

server = FastMCP("notes", instructions="Keeps notes.")
READS = ToolAnnotations(readOnlyHint=True, openWorldHint=False)


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool(annotations=READS)
def fail(why: str) -> str:
    """Fails, and says why."""
    raise ValueError(why)


@server.tool(annotations=READS)
async def count(to: int, context: Context) -> str:
    """Counts, and says how far it is."""
    for number in range(to):
        await context.report_progress(number + 1, to, f"at {number + 1}")
    return f"counted to {to}"


@server.tool(annotations=READS)
async def wait(file: str) -> str:
    """Waits until its call is taken back, and writes that down."""
    Path(file).write_text("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        Path(file).write_text("taken back")


@server.tool(annotations=READS)
async def sign(context: Context) -> str | InputRequiredResult:
    """Asks who signs, and has a model write the signature."""
    given = context.input_responses
    if given is None:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        text = {"role": "user", "content": {"type": "text", "text": "Write a signature."}}
        form = ElicitRequest(params={"mode": "form", "message": "Who signs?", "requestedSchema": schema})
        model = CreateMessageRequest(params={"messages": [text], "maxTokens": 20})
        return InputRequiredResult(input_requests={"who": form, "how": model})
    return f"{given['how'].content.text} {given['who'].content['name']}"


@server.resource("note://first", mime_type="text/plain")
def first() -> str:
    """The first note."""
    return "샘물은 맑다."


@server.prompt
def poem(about: str) -> str:
    """Asks for a poem."""
    return f"Write a poem about {about}."


async def http():
    listener = socket.create_server(("127.0.0.1", 0))
    print("http://%s:%d/mcp" % listener.getsockname(), flush=True)
    await server.run_http_async(show_banner=False, log_level="error", sockets=[listener])


if sys.argv[1] == "stdio":
    server.run(transport="stdio", show_banner=False, log_level="error")
else:
    asyncio.run(http())
