"""Responses of explorer v2 about rejects, an extension. `cursor` is null on the last page."""

from typing import Annotated

from pydantic import BaseModel, Field

from api.fields.chrysalis_payloads import U32
from api.http.responses import whole_example


class Reject(BaseModel):
    """A line, message or file that a load did not accept."""

    milestoneIndex: Annotated[U32 | None, Field(description="null for a line that names no milestone")]
    file: Annotated[str, Field(description="path of the input file, as it was loaded")]
    line: Annotated[int, Field(ge=0, description="line in the file, from 1; 0 for the whole file")]
    item: Annotated[str | None, Field(description="message id or file of a raw block; null for the whole line")]
    reason: Annotated[str, Field(description="what was expected and what was found")]


class Rejects(BaseModel):
    """Rejects by milestone, file, line and item."""

    model_config = whole_example(
        items=[
            {
                "milestoneIndex": 21,
                "file": "archive/1to51.log",
                "line": 21,
                "item": None,
                "reason": "milestone 21: expected a Merkle root of 32 bytes, found 31",
            }
        ],
        total=1,
        cursor=None,
    )
    items: list[Reject]
    total: Annotated[int | None, Field(description="rejects in the store after the newest load; null if unknown")]
    cursor: str | None
