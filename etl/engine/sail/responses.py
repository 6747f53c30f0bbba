"""Responses of the server that are read whole or are an error."""

from collections.abc import Callable, Iterator
from typing import Protocol

from google.protobuf.message import DecodeError
from pyspark.sql.connect.proto.base_pb2 import ExecutePlanRequest, ExecutePlanResponse

PATH = "/spark.connect.SparkConnectService/ExecutePlan"

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
    """

    def __init__(self, channel: Channel) -> None:
        self._execute = channel.unary_stream(PATH, request_serializer=ExecutePlanRequest.SerializeToString)

    def __call__(
        self, request: ExecutePlanRequest, metadata: list[tuple[str, str]] | None = None
    ) -> Iterator[ExecutePlanResponse]:
        """Yields the parts of a plan's response as they arrive. If one cannot be decoded, executes a query again, but
        not after it gave rows. Raises DecodeError then, for commands, which may have written, and the second time.
        """
        attempts = ATTEMPTS if request.plan.HasField("root") else 1
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
            else:
                return
