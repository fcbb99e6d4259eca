"""A peer of `bench turn`: two agents of pydantic-ai, one that judges passages and one that answers, with five turns of history."""

import asyncio
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


async def turn(session: int, question: str) -> str:
    history = histories[session]
    verdict = await judge.run(turns.judged(question))
    assert verdict.output.is_sufficient
    answered = await answer.run(turns.asked(question), message_history=history)
    histories[session] = (history + said(question, answered.output))[-2 * turns.SHOWN :]
    return answered.output


asyncio.run(turns.serve(turn, f"pydantic-ai-slim {metadata.version('pydantic-ai-slim')}"))
