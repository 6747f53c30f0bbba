"""Responses of the server that are read whole or are an error."""

from collections.abc import Callable, Iterator
from typing import Protocol

import grpc
from google.protobuf.message import DecodeError
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.proto.base_pb2 import ExecutePlanRequest, ExecutePlanResponse

from etl.engine.faults import ConnectionLost

PATH = "/spark.connect.SparkConnectService/ExecutePlan"

POLICY = DefaultPolicy()
"""Knows the errors after which the client executes a plan again."""

ATTEMPTS = 2
"""Executions of a query whose response cannot be decoded."""


class Channel(Protocol):
    """A gRPC channel, as far as it is used here. Without a deserializer it gives each part's bytes."""

    def unary_stream(
        self, path: str, /, *, request_serializer: Callable[[ExecutePlanRequest], bytes]
    ) -> Callable[..., Iterator[bytes]]:
        """Returns a method that sends a request and gives the parts of its response."""
        ...


class WholeResponses:
    """Executes plans, instead of the method that gRPC generates.

    If that one cannot decode a part after the server has ended the response, it ends the stream without an error
    (grpc/grpc#34670), and the frame does not have the part's rows. Seen once, in a test.

    The client executes a plan again if the connection is lost. The rows that it gave before would be there twice, and a
    command would find what it wrote before. Seen once, on a machine with much other work: a write found its folder,
    which only its own first execution can have made.
    """

    def __init__(self, channel: Channel) -> None:
        self._execute = channel.unary_stream(PATH, request_serializer=ExecutePlanRequest.SerializeToString)

    def __call__(
        self, request: ExecutePlanRequest, metadata: list[tuple[str, str]] | None = None
    ) -> Iterator[ExecutePlanResponse]:
        """Yields the parts of a plan's response as they arrive. If one cannot be decoded, executes a query again, but
        not after it gave rows. Raises DecodeError then, for commands, which may have written, and the second time.
        Raises ConnectionLost instead of an error for which the client would execute a command, or such a query, again.
        """
        is_query = request.plan.HasField("root")
        attempts = ATTEMPTS if is_query else 1
        while True:
            attempts -= 1
            rows_given = False
            try:
                for data in self._execute(request, metadata=metadata):
                    part = ExecutePlanResponse.FromString(data)
                    rows_given = rows_given or part.HasField("arrow_batch")
                    yield part
            except DecodeError:
                if rows_given or not attempts:
                    raise
            except grpc.RpcError as error:
                if (is_query and not rows_given) or not POLICY.can_retry(error):
                    raise
                reason = error.details() if isinstance(error, grpc.Call) else error
                raise ConnectionLost(f"the connection to the embedded engine was lost: {reason}") from error
            else:
                return
