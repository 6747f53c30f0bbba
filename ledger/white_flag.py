"""White-flag order: the order in which a milestone confirms the messages that it references (TIP-2)."""

from collections.abc import Mapping, Sequence


def white_flag_order(milestone_message_id: bytes, parents: Mapping[bytes, Sequence[bytes]]) -> list[bytes]:
    """Returns the cone in post-order: parents before children, in the order in which a message lists them.

    The milestone's own message comes last. Messages that it does not reach are omitted.

    Args:
        milestone_message_id: The id of the milestone's message.
        parents: The parents of each message in the cone, and of no other. An id that is not a key is older and ends the
            walk.

    Raises:
        KeyError: The milestone's message is not in `parents`.
    """
    order = []
    seen = {milestone_message_id}
    stack = [(milestone_message_id, iter(parents[milestone_message_id]))]
    while stack:
        message_id, rest = stack[-1]
        for parent in rest:
            if parent in parents and parent not in seen:
                seen.add(parent)
                stack.append((parent, iter(parents[parent])))
                break
        else:
            stack.pop()
            order.append(message_id)
    return order
