"""Talks to a running Saem through the openai package, as other programs do; one line of JSON for each check."""

import asyncio
import json
import sys

import openai
from openai.types.chat.chat_completion_message import Annotation

QUESTION = "When is a budget alert sent?"
# A fault must show as it is, not as the last of three attempts.
SETTINGS = {"max_retries": 0, "timeout": 30}


def check(what, holds, seen):
    print(json.dumps({"check": what, "holds": bool(holds), "seen": str(seen)}, ensure_ascii=False), flush=True)
    if not holds:
        sys.exit(1)


def said(text):
    return [{"role": "user", "content": text}]


def raised(kind, call):
    """The error of this kind that a call ends with; none if it ends otherwise."""
    try:
        call()
    except kind as error:
        return error
    return None


def cites(message, address):
    """Whether every citation is of the package's own type and stands where it says."""
    citations = [annotation.url_citation for annotation in message.annotations]
    return (
        len(citations) > 0
        and all(isinstance(annotation, Annotation) for annotation in message.annotations)
        and all(message.content[cited.start_index : cited.end_index] == "[1]" for cited in citations)
        and all(cited.url.startswith(f"{address}/api/sections/") for cited in citations)
        and all(cited.title == "Budget alerts" for cited in citations)
    )


def whole(client, address):
    answer = client.chat.completions.create(model="saem", messages=said(QUESTION))
    choice = answer.choices[0]
    check("an answer is whole", choice.finish_reason == "stop" and "threshold" in choice.message.content, choice)
    check("citations have the package's types", cites(choice.message, address), choice.message.annotations)
    usage = answer.usage
    check("usage adds up", usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage)
    return choice.message


def pieces(client, message):
    asked = {"model": "saem", "messages": said(QUESTION), "stream": True}
    chunks = list(client.chat.completions.create(**asked, stream_options={"include_usage": True}))
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    text = "".join(choice.delta.content or "" for choice in choices)
    check("the pieces are the whole", text == message.content, text)
    reasons = [choice.finish_reason for choice in choices]
    check("only the last piece ends it", reasons == [None] * (len(reasons) - 1) + ["stop"], reasons)
    check("the first piece says who speaks", choices[0].delta.role == "assistant", choices[0])
    check("all pieces are of one answer", len({chunk.id for chunk in chunks}) == 1, chunks[0].id)
    counted = [chunk.usage is not None for chunk in chunks]
    check("usage comes last, once", counted == [False] * (len(counted) - 1) + [True], counted)
    check("usage comes with no choice", chunks[-1].choices == [], chunks[-1])
    plain = list(client.chat.completions.create(**asked))
    check("usage comes only if asked for", all(chunk.usage is None for chunk in plain), plain[-1])


def gathered(client, message, address):
    """The package's own way to put pieces together."""
    with client.chat.completions.stream(model="saem", messages=said(QUESTION)) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion().choices[0].message
    check("the package puts the pieces together", final.content == message.content, final.content)
    check("citations of a stream have the package's types", cites(final, address), final.annotations)


def remembered(client):
    def ask(text, user):
        return client.chat.completions.create(model="saem", messages=said(text), user=user)

    ask(f"My budget is $5,000. {QUESTION}", "mina")
    again = "What was my budget again?"
    own = ask(again, "mina").choices[0].message.content
    check("a user's conversation goes on", "$5,000" in own, own)
    other = ask(again, "joon").choices[0].message.content
    check("another user's is another", "$5,000" not in other, other)
    told = [*said("My budget is $7,000."), {"role": "assistant", "content": "I see."}, *said(again)]
    answer = client.chat.completions.create(model="saem", messages=told).choices[0].message.content
    check("what the client tells counts, if nothing is kept", "$7,000" in answer, answer)


async def at_once(address, message):
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="none", **SETTINGS) as client:
        asking = [client.chat.completions.create(model="saem", messages=said(QUESTION)) for _ in range(8)]
        texts = {answer.choices[0].message.content for answer in await asyncio.gather(*asking)}
    check("eight at once get the same answer", texts == {message.content}, texts)


def answers(address):
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="none", **SETTINGS)
    models = [model.id for model in client.models.list()]
    check("there is a model to name", models == ["saem"], models)
    message = whole(client, address)
    pieces(client, message)
    gathered(client, message, address)
    remembered(client)
    asyncio.run(at_once(address, message))


def errors(address, key):
    client = openai.OpenAI(base_url=f"{address}/v1", api_key=key, **SETTINGS)

    def create(**fields):
        return client.chat.completions.create(model="saem", **fields)

    check("the right key opens", create(messages=said("hello")).choices[0].message.content, "an answer")
    for fields, words in [
        ({"messages": []}, "must be the user's"),
        ({"messages": said(QUESTION), "n": 2}, "one answer"),
        ({"messages": said(" ")}, "the question is empty"),
    ]:
        error = raised(openai.BadRequestError, lambda: create(**fields))
        check(f"a bad request is told so: {words}", error and words in error.body["message"], error)
        check("its code can be branched on", error.code == "invalid_request", error.code)
        streamed = raised(openai.BadRequestError, lambda: create(stream=True, **fields))
        check("a stream is refused alike", streamed and streamed.body == error.body, streamed)
    error = raised(openai.NotFoundError, lambda: client.embeddings.create(model="saem", input="x"))
    check("what there is not is not found", error, error)
    wrong = openai.OpenAI(base_url=f"{address}/v1", api_key=key[:-1] + "_", **SETTINGS)
    for call in [wrong.models.list, lambda: wrong.chat.completions.create(model="saem", messages=said(QUESTION))]:
        error = raised(openai.AuthenticationError, call)
        check("a wrong key is refused in words", error and len(error.body["message"]) > 20, error)


if __name__ == "__main__":
    {"answers": answers, "errors": errors}[sys.argv[1]](*sys.argv[2:])
