"""What the peers of `bench turn` share: what a turn is made of, and how a run of turns is measured.

Each line on standard input is the number of turns and of sessions that ask at the same time, or `version`; each line of output
is JSON with what the run took. A session is asked one question after the other.

The peers leave out what Saem does besides: nobody calls them over HTTP, the passages are ready instead of searched for, the
tokens of what a model reads are not counted, nothing is written to disk, no memory is rewritten, and answers come whole but where a peer is said to be streamed.
"""

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

MATERIAL = json.loads(Path(sys.argv[1]).read_text())
BASE_URL: str = MATERIAL["base_url"]
QUESTIONS: list[str] = MATERIAL["questions"]
JUDGE: str = MATERIAL["judge"]
ANSWER: str = MATERIAL["answer"]
JUDGED: str = MATERIAL["judged"]
PASSAGES: str = MATERIAL["passages"]
# What was said before: five turns, the number that Saem shows a model word for word.
SAID: list[tuple[str, str]] = [(question, answer) for question, answer in MATERIAL["said"]]
# Turns that a model is shown.
SHOWN = len(SAID)
# Sessions take turns, so that each has its history.
SESSIONS = 64


def judged(question: str) -> str:
    return f"{JUDGED}\nQuestion: {question}"


def asked(question: str) -> str:
    return f"{PASSAGES}\nQuestion: {question}"


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def measure(turn: Callable[[int, str], Awaitable[str]], turns: int, at_once: int) -> dict:
    times: list[float] = []
    left = iter(range(turns))

    async def client(number: int) -> None:
        session = number
        for place in left:
            start = time.perf_counter()
            answer = await turn(session, QUESTIONS[place % len(QUESTIONS)])
            times.append(time.perf_counter() - start)
            assert "[2]" in answer, answer
            session = session + at_once if session + at_once < SESSIONS else number

    gc.collect()
    cpu, wall = cpu_seconds(), time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(at_once)))
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    times.sort()
    assert len(times) == turns
    return {
        "cpu_ms": cpu * 1000 / turns,
        "p50_ms": times[(turns - 1) // 2] * 1000,
        "p99_ms": times[int((turns - 1) * 0.99)] * 1000,
        "turns_per_second": turns / wall,
        "resident_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def serve(turn: Callable[[int, str], Awaitable[str]], version: str) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line.strip() == "version":
            answer: object = version
        else:
            turns, at_once = map(int, line.split())
            answer = await measure(turn, turns, at_once)
        print(json.dumps(answer), flush=True)
