"""The inclusion state of a message: the field of responses, and its value from a row."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from db.store import Row

InclusionState: TypeAlias = Annotated[
    Literal["noTransaction", "included", "conflicting"], Field(title="InclusionState")
]
"""The title names the type in generated clients."""

INCLUSION = ("noTransaction", "included", "conflicting")
"""The column `inclusion_state` is an index into these."""

CONFLICTING = INCLUSION.index("conflicting")


def inclusion(row: Row) -> str | None:
    """Returns the inclusion state of a row's message; None while the message is pending."""
    if "included" in row:
        return "included" if row["included"] else "conflicting"
    state = row.get("inclusion_state")
    return None if state is None else INCLUSION[state]
