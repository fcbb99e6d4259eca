# The same agent over gRPC alone, at an address of its own that the card names as gRPC does. Says where its card is, and where it listens.
import asyncio

import grpc
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2_grpc
from google.protobuf.json_format import MessageToJson

from a2a_painter import Painter, card


async def main():
    server = grpc.aio.server()
    at = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    described = card(at, "GRPC")
    handler = DefaultRequestHandler(agent_executor=Painter(), task_store=InMemoryTaskStore(), agent_card=described)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    await server.start()
    body = MessageToJson(described).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"

    async def show_card(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    cards = await asyncio.start_server(show_card, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{cards.sockets[0].getsockname()[1]} http://{at}", flush=True)
    await server.wait_for_termination()


asyncio.run(main())
