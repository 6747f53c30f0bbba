"""The two driver policies, without a cluster: which node gets a request first, and which requests are retried."""

from types import SimpleNamespace
from typing import Any

import pytest
from cassandra import ConsistencyLevel
from cassandra.connection import ConnectionShutdown
from cassandra.policies import RetryPolicy, TokenAwarePolicy
from cassandra.protocol import OverloadedErrorMessage

from db.cassandra import policies as cassandra_policies
from db.cassandra.policies import LATE_S, LateLast, OnceMore


def decided(*, idempotent: bool, retry_num: int) -> dict[str, int]:
    """The decision for each kind of response."""
    query: Any = SimpleNamespace(is_idempotent=idempotent)
    policy, level = OnceMore(), ConsistencyLevel.LOCAL_QUORUM
    overloaded = OverloadedErrorMessage(0x1001, "", None)
    decisions = {
        "read timeout": policy.on_read_timeout(query, level, 2, 1, True, retry_num=retry_num),
        "write timeout": policy.on_write_timeout(query, level, "SIMPLE", 2, 1, retry_num=retry_num),
        "unavailable": policy.on_unavailable(query, level, 2, 1, retry_num=retry_num),
        "overloaded": policy.on_request_error(query, level, error=overloaded, retry_num=retry_num),
        "lost": policy.on_request_error(query, level, error=ConnectionShutdown("lost"), retry_num=retry_num),
    }
    assert {consistency for _, consistency in decisions.values()} == {None}
    return {answer: decision for answer, (decision, _) in decisions.items()}


def test_what_may_be_repeated_is_sent_to_one_more_node_and_nothing_else_twice() -> None:
    again, enough = RetryPolicy.RETRY_NEXT_HOST, RetryPolicy.RETHROW
    kinds = ("read timeout", "write timeout", "unavailable", "overloaded", "lost")
    assert decided(idempotent=True, retry_num=0) == dict.fromkeys(kinds, again)
    assert decided(idempotent=True, retry_num=1) == dict.fromkeys(kinds, enough) | {"lost": again}
    assert decided(idempotent=False, retry_num=0) == dict.fromkeys(kinds, enough) | {"unavailable": again}
    assert decided(idempotent=False, retry_num=1) == dict.fromkeys(kinds, enough)


def test_nodes_that_kept_a_query_waiting_are_queried_last_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TokenAwarePolicy, "make_query_plan", lambda *_: iter("abc"))
    now = 100.0
    monkeypatch.setattr(cassandra_policies.time, "monotonic", lambda: now)
    policy = LateLast("")
    assert list(policy.make_query_plan()) == ["a", "b", "c"]
    policy.note(["a", "b"], "b")
    assert list(policy.make_query_plan()) == ["b", "c", "a"]
    now += LATE_S / 2
    policy.note(["b", "c"], "c")
    assert list(policy.make_query_plan()) == ["c", "a", "b"]
    now += LATE_S / 2
    assert list(policy.make_query_plan()) == ["a", "c", "b"]
    now += LATE_S
    assert list(policy.make_query_plan()) == ["a", "b", "c"]
