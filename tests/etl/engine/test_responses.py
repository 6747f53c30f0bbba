"""Parts of a response that cannot be decoded: no row of a frame may be missing without an error."""

from collections.abc import Callable, Iterable, Iterator

import grpc
import pytest
from google.protobuf.message import DecodeError
from pyspark.sql.connect.proto.base_pb2 import ExecutePlanRequest, ExecutePlanResponse

from etl.engine.faults import ConnectionLost
from etl.engine.sail.responses import WholeResponses

SCHEMA, *ROWS = [ExecutePlanResponse(response_id=str(number)) for number in range(3)]
for number, part in enumerate(ROWS):
    part.arrow_batch.row_count = number
WHOLE = [part.SerializeToString() for part in (SCHEMA, *ROWS)]
WITHOUT_ROWS = [WHOLE[0], WHOLE[1][:-1], WHOLE[2]]
WITHOUT_LAST = [*WHOLE[:2], WHOLE[2][:-1]]

QUERY, COMMAND = ExecutePlanRequest(), ExecutePlanRequest()
QUERY.plan.root.limit.limit = 1
COMMAND.plan.command.write_operation.path = "/lake/messages"


class Unavailable(grpc.RpcError):
    """What gRPC raises when the connection ends."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE


def interrupted(*parts: bytes) -> Iterator[bytes]:
    yield from parts
    raise Unavailable("Socket closed")


class Answers:
    """A channel whose server gives these responses in turn."""

    def __init__(self, *responses: Iterable[bytes]) -> None:
        self._responses = iter(responses)

    def unary_stream(
        self, path: str, /, *, request_serializer: Callable[[ExecutePlanRequest], bytes]
    ) -> Callable[..., Iterator[bytes]]:
        return lambda request, metadata: iter(next(self._responses))


def test_a_query_is_executed_again() -> None:
    assert list(WholeResponses(Answers(WITHOUT_ROWS, WHOLE))(QUERY)) == [SCHEMA, SCHEMA, *ROWS]


def test_a_query_that_fails_twice_is_an_error() -> None:
    with pytest.raises(DecodeError):
        list(WholeResponses(Answers(WITHOUT_ROWS, WITHOUT_ROWS, WHOLE))(QUERY))


def test_rows_are_not_given_twice() -> None:
    given = WholeResponses(Answers(WITHOUT_LAST, WHOLE))(QUERY)
    assert [next(given), next(given)] == [SCHEMA, ROWS[0]]
    with pytest.raises(DecodeError):
        next(given)


def test_a_command_is_executed_once() -> None:
    with pytest.raises(DecodeError):
        list(WholeResponses(Answers(WITHOUT_ROWS, WHOLE))(COMMAND))


def test_the_client_executes_a_query_again_if_it_lost_the_connection_before_the_first_rows() -> None:
    with pytest.raises(Unavailable):
        list(WholeResponses(Answers(interrupted(WHOLE[0])))(QUERY))


@pytest.mark.parametrize(("plan", "parts"), [(QUERY, WHOLE[:2]), (COMMAND, []), (COMMAND, WHOLE[:1])])
def test_a_lost_connection_gives_no_row_twice_and_executes_no_command_twice(
    plan: ExecutePlanRequest, parts: list[bytes]
) -> None:
    with pytest.raises(ConnectionLost, match=r"^the connection to the embedded engine was lost: Socket closed$"):
        list(WholeResponses(Answers(interrupted(*parts)))(plan))
