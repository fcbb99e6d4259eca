"""A peer of `bench research`: a group chat of Microsoft Agent Framework with the four agents, and its checkpoints in files.

Each line on standard input is the number of runs, or `version`; each line of output is JSON with what the runs took. The agents say
what is written here, at once: what is measured is the framework. Six turns: planning, research, reflect (wants more), research, reflect (is
content), content. The agents leave out what Saem does besides: nothing is searched, no quote is looked for, nothing is validated.
"""

import asyncio
import gc
import json
import logging
import resource
import shutil
import sys
import tempfile
import time
from importlib import metadata

from agent_framework import AgentResponse, AgentResponseUpdate, BaseAgent, Content, FileCheckpointStorage, Message
from agent_framework_orchestrations import GroupChatBuilder

logging.disable(logging.WARNING)

MATERIAL = json.loads(open(sys.argv[1], encoding="utf-8").read())
TURNS = ["planning", "research", "reflect", "research", "reflect", "content"]


class Scripted(BaseAgent):
    """Says its lines one after the other."""

    def __init__(self, name: str, lines: list[str]):
        super().__init__(name=name, description=f"The {name} agent")
        self._lines, self._said = lines, 0

    def run(self, messages=None, *, stream=False, session=None, **_):
        text = self._lines[self._said % len(self._lines)]
        self._said += 1
        if stream:

            async def parts():
                yield AgentResponseUpdate(contents=[Content.from_text(text)], role="assistant", author_name=self.name)

            return parts()

        async def whole():
            return AgentResponse(messages=[Message("assistant", [text], author_name=self.name)])

        return whole()


def chat(folder: str):
    agents = [Scripted(name, lines) for name, lines in MATERIAL["lines"].items()]
    return GroupChatBuilder(
        participants=agents,
        selection_func=lambda state: TURNS[state.current_round],
        max_rounds=len(TURNS),
        checkpoint_storage=FileCheckpointStorage(folder),
    ).build()


async def run() -> None:
    folder = tempfile.mkdtemp()
    try:
        result = await chat(folder).run(MATERIAL["question"])
        assert result.get_outputs(), "there is no output"
    finally:
        shutil.rmtree(folder)


async def measure(runs: int) -> dict:
    gc.collect()
    before, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for _ in range(runs):
        await run()
    after, wall = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - wall
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_ms": cpu * 1000 / runs, "wall_ms": wall * 1000 / runs, "resident_mebibytes": after.ru_maxrss / 1024}


async def serve() -> None:
    for line in sys.stdin:
        if line.strip() == "version":
            print(json.dumps(f"agent-framework {metadata.version('agent-framework-core')}"), flush=True)
        else:
            print(json.dumps(await measure(int(line))), flush=True)


asyncio.run(serve())
