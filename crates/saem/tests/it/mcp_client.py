"""Talks to Saem through the MCP SDK for Python or through FastMCP; one line of JSON for each check.

    mcp_client.py sdk|fastmcp old|new URL
    mcp_client.py sdk|fastmcp old|new PROGRAM ARGUMENT...
"""

import json
import sys

import anyio
import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from mcp.types import PromptReference, ResourceTemplateReference

VERSIONS = {"old": "2025-11-25", "new": "2026-07-28"}
MODES = {"old": "legacy", "new": "auto"}
TOOLS = ["search_all", "search_by_metadata", "get_section", "ask", "research", "list_documents",
         "ingest_document", "find_agents", "get_agent_card"]
PATIENCE_S = 50


def check(what, holds, seen):
    print(json.dumps({"check": what, "holds": bool(holds), "seen": str(seen)}, ensure_ascii=False), flush=True)
    if not holds:
        sys.exit(1)


class Heard:
    """What the server has said without being asked."""

    def __init__(self):
        self.messages = []
        self.news = anyio.Event()

    async def take(self, message):
        self.messages.append(message)
        self.news.set()

    async def until(self, method, uri=None):
        def fits(message):
            is_it = getattr(message, "method", None) == method
            return is_it and (uri is None or str(message.params.uri) == uri)

        while not any(fits(message) for message in self.messages):
            self.news = anyio.Event()
            await self.news.wait()


def client_of(library, era, target, heard):
    settings = {"mode": MODES[era], "message_handler": heard.take}
    is_url = target[0].startswith("http")
    if library == "sdk":
        process = mcp.StdioServerParameters(command=target[0], args=target[1:])
        return mcp.Client(target[0] if is_url else process, **settings)
    process = StdioTransport(command=target[0], args=target[1:])
    return fastmcp.Client(target[0] if is_url else process, **settings)


def items(listed, name):
    """One library gives the list, the other an answer with the list in it."""
    return listed if isinstance(listed, list) else getattr(listed, name)


async def refused(call):
    """The error that a call ends with; none if it does not."""
    try:
        await call
    except Exception as error:  # each library has its own
        return error
    return None


async def tools(client):
    listed = items(await client.list_tools(), "tools")
    names = [tool.name for tool in listed]
    check("the tools are listed", names == TOOLS, names)
    whole = [tool for tool in listed if tool.input_schema and tool.output_schema and tool.annotations and tool.title]
    check("each says what it takes, gives and may do", len(whole) == len(TOOLS), len(whole))
    told = []

    async def progress(done, total, message):
        told.append(message)

    asked = {"question": "When is a budget alert sent?"}
    if isinstance(client, fastmcp.Client):
        answer = await client.call_tool("ask", asked, progress_handler=progress)
    else:
        answer = await client.call_tool("ask", asked, progress_callback=progress)
    body = answer.structured_content
    check("a question is answered", "threshold is crossed. [1]" in body["answer"], body)
    check("an answer says how far it is", any("searching" in message for message in told), told)
    cited = body["citations"][0]
    check("an answer names its source", cited["source"] == "budget.md", cited)
    section = await client.call_tool("get_section", {"section": cited["section"]})
    check("the source can be read on", "A budget alert" in section.structured_content["text"], section)
    found = await client.call_tool("search_all", {"query": "예산 budget alert"})
    check("a search finds it", found.structured_content["passages"][0]["source"] == "budget.md", found)
    check("there are words for a model too", "budget" in found.content[0].text, found.content)


async def mistakes(client):
    if isinstance(client, fastmcp.Client):
        wrong = await refused(client.call_tool("get_section", {"section": "nowhere"}))
        check("a mistake is told to the model", isinstance(wrong, ToolError), repr(wrong))
    else:
        wrong = await client.call_tool("get_section", {"section": "nowhere"})
        check("a mistake is told to the model", wrong.is_error and wrong.content[0].text, wrong)
    unknown = await refused(client.call_tool("no_such_tool", {}))
    check("an unknown tool is an error", unknown is not None, repr(unknown))
    absent = await refused(client.read_resource("saem://documents/" + "0" * 32))
    check("an unknown document is an error", absent is not None, repr(absent))


async def documents(client):
    listed = items(await client.list_resources(), "resources")
    check("every document is a resource", [item.name for item in listed] == ["budget.md"], listed)
    read = items(await client.read_resource(str(listed[0].uri)), "contents")
    check("a resource can be read", "threshold" in read[0].text, read)
    templates = items(await client.list_resource_templates(), "resource_templates")
    check("there is a template", len(templates) >= 1, templates)
    template = ResourceTemplateReference(type="ref/resource", uri=templates[0].uri_template)
    completed = await client.complete(template, {"name": "id", "value": ""})
    values = getattr(completed, "completion", completed).values
    check("a template is completed", len(values) == 1 and values[0] in str(listed[0].uri), values)
    prompts = items(await client.list_prompts(), "prompts")
    check("prompts are listed", "summarize-document" in [prompt.name for prompt in prompts], prompts)
    filled = await client.get_prompt("summarize-document", {"document": "Budget alerts"})
    check("a prompt is filled in", "Budget alerts" in filled.messages[0].content.text, filled)
    prompt = PromptReference(type="ref/prompt", name="summarize-document")
    completed = await client.complete(prompt, {"name": "document", "value": "Bud"})
    values = getattr(completed, "completion", completed).values
    check("an argument is completed", values == ["Budget alerts"], values)
    return str(listed[0].uri)


async def ingest(client, text):
    document = {"name": "budget.md", "text": text}
    done = await client.call_tool("ingest_document", document)
    check("a document comes in", done.structured_content["state"] in ("waiting", "done"), done)


async def changes(client, era, heard, uri):
    session = client.session
    text = "# Budget alerts\n\nA budget alert is sent at nine."
    with anyio.fail_after(PATIENCE_S):
        if era == "old":
            await session.subscribe_resource(uri)
            await ingest(client, text)
            await heard.until("notifications/resources/updated", uri)
            # Word of this change that came while the client leaves would be an error to it.
            await heard.until("notifications/resources/list_changed")
            heard.messages.clear()
            await client.call_tool("ingest_document", {"name": "second.md", "text": "# Second\n\nNew."})
            await heard.until("notifications/resources/list_changed")
        elif isinstance(client, mcp.Client):
            async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as listening:
                await ingest(client, text)
                await client.call_tool("ingest_document", {"name": "second.md", "text": "# Second\n\nNew."})
                wanted = {"ResourceUpdated", "ResourcesListChanged"}
                async for event in listening:
                    wanted.discard(type(event).__name__)
                    if not wanted:
                        break
        else:
            # FastMCP has no words for listening: what it can do is to look again.
            await ingest(client, text)
            found = await client.call_tool("search_all", {"query": "budget alert"})
            check("what came in is found", "at nine" in found.content[0].text, found.content)
            return
    check("news of a document arrives", True, [getattr(message, "method", message) for message in heard.messages])


async def main(library, era, target):
    heard = Heard()
    async with client_of(library, era, target, heard) as client:
        version = str(client.protocol_version)
        check("the era is the one that was asked for", version == VERSIONS[era], version)
        check("the server says who it is", client.server_info.name == "saem", client.server_info)
        await tools(client)
        await mistakes(client)
        uri = await documents(client)
        await changes(client, era, heard, uri)


anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3:])
