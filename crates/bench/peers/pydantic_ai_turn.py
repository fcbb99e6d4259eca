"""A peer of `bench turn`: two agents of pydantic-ai, one that judges passages and one that answers, with five turns of history.

With `streamed` behind the material, the answer is read as the model writes it, as Saem reads it; else it comes whole. A verdict
always comes whole.
"""

import asyncio
import sys
from importlib import metadata

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import turns


class Verdict(BaseModel):
    ranked_indices: list[int]
    is_sufficient: bool
    missing: list[str]
    next_action: str | None
    refined_query: str | None
    confidence: float


model = OpenAIChatModel("stub", provider=OpenAIProvider(base_url=turns.BASE_URL, api_key="none"))
judge = Agent(model, output_type=NativeOutput(Verdict, name="verdict"), instructions=turns.JUDGE)
answer = Agent(model, output_type=str, instructions=turns.ANSWER)


def said(question: str, text: str) -> list[ModelMessage]:
    return [ModelRequest([UserPromptPart(question)]), ModelResponse([TextPart(text)])]


start = [message for question, text in turns.SAID for message in said(question, text)]
histories = [list(start) for _ in range(turns.SESSIONS)]


IS_STREAMED = sys.argv[2:] == ["streamed"]


async def written(question: str, history: list[ModelMessage]) -> str:
    if not IS_STREAMED:
        return (await answer.run(question, message_history=history)).output
    async with answer.run_stream(question, message_history=history) as run:
        return "".join([piece async for piece in run.stream_text(delta=True)])


async def turn(session: int, question: str) -> str:
    history = histories[session]
    verdict = await judge.run(turns.judged(question))
    assert verdict.output.is_sufficient
    text = await written(turns.asked(question), history)
    histories[session] = (history + said(question, text))[-2 * turns.SHOWN :]
    return text


name = f"pydantic-ai-slim {metadata.version('pydantic-ai-slim')}"
asyncio.run(turns.serve(turn, f"{name}, streamed" if IS_STREAMED else name))
