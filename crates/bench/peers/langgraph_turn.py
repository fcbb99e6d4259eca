"""A peer of `bench turn`: a graph of LangGraph with two nodes, judge and answer, and its checkpointer in memory.

The nodes call the model through the openai package and not through LangChain's models, which would add to their work.
"""

import asyncio
from importlib import metadata
from typing import Annotated, TypedDict

from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, StateGraph
from openai import AsyncOpenAI
from pydantic import BaseModel

import turns


class Verdict(BaseModel):
    ranked_indices: list[int]
    is_sufficient: bool
    missing: list[str]
    next_action: str | None
    refined_query: str | None
    confidence: float


def newest(before: list[dict], added: list[dict]) -> list[dict]:
    return (before + added)[-2 * turns.SHOWN :]


class State(TypedDict):
    question: str
    sufficient: bool
    answer: str
    messages: Annotated[list[dict], newest]


client = AsyncOpenAI(base_url=turns.BASE_URL, api_key="none")
FORMAT = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": Verdict.model_json_schema()}}


def said(question: str, text: str) -> list[dict]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": text}]


async def judge(state: State) -> dict:
    messages = [{"role": "system", "content": turns.JUDGE}, {"role": "user", "content": turns.judged(state["question"])}]
    completion = await client.chat.completions.create(model="stub", messages=messages, response_format=FORMAT)
    verdict = Verdict.model_validate_json(completion.choices[0].message.content)
    return {"sufficient": verdict.is_sufficient}


async def answer(state: State) -> dict:
    messages = [
        {"role": "system", "content": turns.ANSWER},
        *state["messages"],
        {"role": "user", "content": turns.asked(state["question"])},
    ]
    completion = await client.chat.completions.create(model="stub", messages=messages)
    text = completion.choices[0].message.content
    return {"answer": text, "messages": said(state["question"], text)}


builder = StateGraph(State)
builder.add_node("judge", judge)
builder.add_node("answer", answer)
builder.add_edge(START, "judge")
builder.add_conditional_edges("judge", lambda state: "answer" if state["sufficient"] else END)
builder.add_edge("answer", END)
graph = builder.compile(checkpointer=MemorySaver())
has_history = set()


async def turn(session: int, question: str) -> str:
    config = {"configurable": {"thread_id": str(session)}}
    given: dict = {"question": question}
    if session not in has_history:
        has_history.add(session)
        given["messages"] = [message for said_before in turns.SAID for message in said(*said_before)]
    state = await graph.ainvoke(given, config)
    return state["answer"]


asyncio.run(turns.serve(turn, f"langgraph {metadata.version('langgraph')}, openai {metadata.version('openai')}"))
