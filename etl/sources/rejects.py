"""Reject: a rejected part of an input file, with its place and the reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejected line or message. `item`: the message id as hex, or empty for a whole line."""

    file: str
    line: int
    item: str
    reason: str
