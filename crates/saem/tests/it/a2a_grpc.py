# Calls every method of both gRPC services with an empty message, and says for each which status came back.
#
#     a2a_grpc.py TARGET [--header NAME VALUE]... [--ca FILE] [--cert FILE --key FILE]

import argparse
import json
import time

import grpc

TRIES_MAX = 200

METHODS = {
    "lf.a2a.v1.A2AService": [
        "SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask",
        "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig", "GetExtendedAgentCard",
    ],
    "a2a.v1.A2AService": [
        "SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "TaskSubscription",
        "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfig",
        "DeleteTaskPushNotificationConfig", "GetAgentCard",
    ],
}

parser = argparse.ArgumentParser()
parser.add_argument("target")
parser.add_argument("--header", nargs=2, action="append", default=[])
parser.add_argument("--ca")
parser.add_argument("--cert")
parser.add_argument("--key")
given = parser.parse_args()


def read(path):
    return open(path, "rb").read() if path else None


if given.ca:
    credentials = grpc.ssl_channel_credentials(read(given.ca), read(given.key), read(given.cert))
    channel = grpc.secure_channel(given.target, credentials)
else:
    channel = grpc.insecure_channel(given.target)

for service, methods in METHODS.items():
    version = "1.0" if service.startswith("lf.") else "0.3"
    metadata = [("a2a-version", version), *[(name.lower(), value) for name, value in given.header]]
    for method in methods:
        call = channel.unary_stream(f"/{service}/{method}", lambda message: message, lambda message: message)
        for _try in range(TRIES_MAX):
            try:
                for _message in call(b"", metadata=metadata, timeout=20):
                    pass
                code = "OK"
            except grpc.RpcError as error:
                code = error.code().name
                # Strangers may not ask as often as this.
                if code == "RESOURCE_EXHAUSTED":
                    time.sleep(0.05)
                    continue
            break
        print(json.dumps({"method": f"{service}/{method}", "code": code}))
