"""Property tests of the fixture `store`: 25 examples on the embedded store, and 10 on a cluster, where each takes many
times as long.
"""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hypothesis import HealthCheck, given, settings

EMBEDDED, CLUSTER = (
    settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    for count in (25, 10)
)


def examples(**strategies: Any) -> Callable[[Any], Any]:
    """`hypothesis.given`, with a number of examples that depends on the store."""

    def decorated(test: FunctionType) -> Any:
        tests = {
            atomic: given(**strategies)(chosen(copy_of(test)))
            for atomic, chosen in ((True, EMBEDDED), (False, CLUSTER))
        }

        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            tests[fixtures["store"].atomic](**fixtures)

        # pytest reads from it which fixtures a test has.
        vars(run)["__signature__"] = inspect.signature(tests[True])
        return run

    return decorated


def copy_of(test: FunctionType) -> FunctionType:
    """A function of its own: hypothesis keeps the settings of a test in an attribute."""
    return FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
