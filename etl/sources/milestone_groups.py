"""Groups the records of a binary file by milestone. One group at a time is in memory."""

from collections.abc import Callable, Iterable, Iterator


def by_milestone(
    records: Iterable[tuple[bytes, int, bool]], most: int | None, skipped: Callable[[int, int], None]
) -> Iterator[tuple[int, int, bytes]]:
    """Yields (record number from 1, offset, bytes) of each group.

    Args:
        records: bytes of a part of the file, the number of records in it, and whether it begins another milestone.
        most: bytes of a group. A larger one is not yielded.
        skipped: receives number and bytes of a larger group.
    """
    number, first, offset, size = 1, 1, 0, 0
    held: list[bytes] = []
    for part, count, is_first in records:
        if size and is_first:
            if held:
                yield first, offset, b"".join(held)
            else:
                skipped(first, size)
            first, offset, size, held = number, offset + size, 0, []
        number, size = number + count, size + len(part)
        if most is None or size <= most:
            held.append(part)
        else:
            held.clear()
    if held:
        yield first, offset, b"".join(held)
    elif size:
        skipped(first, size)
