"""White-flag order: in which order a milestone confirms the messages it references (TIP-2)."""

from collections.abc import Mapping, Sequence


def white_flag_order(milestone_message_id: bytes, parents: Mapping[bytes, Sequence[bytes]]) -> list[bytes]:
    """The cone in post-order: parents before children, in the order in which a message names them.

    `parents` holds the cone and nothing else: each message that the milestone confirms, and the milestone's own
    (KeyError without it). Other ids are older and end the walk. The milestone's own message is last; what it cannot
    reach is absent.
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
