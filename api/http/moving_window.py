"""How many requests each client sent in a moving window.

Invariants: keys are in the order of their last use. A key has at least one time, and its times ascend. Only hits remove
keys, so there is no thread and no timer.
"""

from array import array
from bisect import bisect_right
from collections import OrderedDict
from ipaddress import IPv6Address

KEYS_MAX = 100_000
"""Maximum of keys in a window. Above it the key that has not been used for longest is forgotten."""


def key_of(address: str) -> str:
    """Returns the key of a client address: an IPv6 address stands for its /64 network, which one client has to itself.

    An IPv4-mapped IPv6 address is the IPv4 address. A text that is not an address is its own key.
    """
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return parsed.packed[:8].hex()


class MovingWindow:
    """Allows each key `amount` hits in any `seconds`. Rejected hits do not count.

    Args:
        amount: 1 or more.
        seconds: length of the window.
        keys_max: maximum of keys.
    """

    def __init__(self, amount: int, seconds: float, keys_max: int = KEYS_MAX) -> None:
        self._amount, self._seconds, self._keys_max = amount, seconds, keys_max
        # Arrays, because an empty deque has 760 bytes, and most keys have few times.
        self._times: OrderedDict[str, array[float]] = OrderedDict()

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._times)

    def hit(self, key: str, now: float) -> float | None:
        """Counts a hit. `now` never decreases.

        Returns:
            None if the hit is allowed, else the seconds until the next one is.
        """
        past = now - self._seconds
        self._remove_expired(past)
        times = self._times.get(key)
        if times is None:
            if len(self._times) >= self._keys_max:
                self._times.popitem(last=False)
            times = self._times[key] = array("d")
        else:
            self._times.move_to_end(key)
            del times[: bisect_right(times, past)]
        if len(times) >= self._amount:
            return times[0] + self._seconds - now
        times.append(now)
        return None

    def _remove_expired(self, past: float) -> None:
        """Removes keys without a hit after `past` from the front. Each hit adds one key at most, so this is O(1)."""
        while self._times:
            key = next(iter(self._times))
            if self._times[key][-1] > past:
                return
            del self._times[key]
