"""The moving window of the rate limit: its keys, its size, and what it allows."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.moving_window import MovingWindow, key_of


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
        ("10.0.0.1", "::ffff:10.0.0.1", "::10.0.0.1"),
        ("::ffff:a00:1", "::FFFF:10.0.0.1", "::ffff:10.0.0.2"),
        ("2001:db8::1", "2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8:0:1::1"),
        ("fe80::1%eth0", "fe80::2%eth1", "fe81::1"),
        ("no address", "no address", "no: address"),
    ],
)
def test_key_of_an_address(address: str, same: str, other: str) -> None:
    assert key_of(address) == key_of(same) != key_of(other)


@pytest.mark.parametrize("amount", [1, 3])
def test_keys_are_removed_after_their_window(amount: int) -> None:
    window = MovingWindow(amount, 60)
    for number in range(10_000):
        for _ in range(2):
            window.hit(f"{number}", number / 1_000)
    assert len(window) == 10_000
    window.hit("other", 65)
    assert len(window) == 5_000
    window.hit("other", 200)
    assert len(window) == 1


def test_above_the_maximum_the_longest_unused_key_is_forgotten() -> None:
    window = MovingWindow(1, 60, keys_max=3)
    assert [window.hit(key, 0) for key in "abc"] == [None] * 3
    # A rejected hit is a use, too.
    assert window.hit("a", 1) == 59
    assert [window.hit("d", 2), len(window)] == [None, 3]
    assert [window.hit(key, 3) for key in "acd"] == [57, 57, 59]
    assert [window.hit("b", 4), len(window)] == [None, 3]


def test_a_hit_is_allowed_when_the_reported_time_has_passed() -> None:
    window = MovingWindow(2, 10)
    assert [window.hit("a", 0), window.hit("a", 4), window.hit("a", 9)] == [None, None, 1]
    assert [window.hit("a", 10), window.hit("a", 10), window.hit("a", 14)] == [None, 4, None]


@given(
    st.integers(1, 4),
    st.integers(1, 12),
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), max_size=60),
)
def test_equals_a_naive_window(amount: int, seconds: int, hits: list[tuple[str, int]]) -> None:
    window = MovingWindow(amount, seconds)
    allowed: defaultdict[str, list[int]] = defaultdict(list)
    now = 0
    for key, passed in hits:
        now += passed
        present = [each for each in allowed[key] if each > now - seconds]
        expected = present[0] + seconds - now if len(present) >= amount else None
        assert window.hit(key, now) == expected
        if expected is None:
            allowed[key].append(now)
    window.hit("e", now + seconds)
    assert len(window) == 1
