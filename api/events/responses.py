"""Responses of the events family: a page of events. All ids have 0x, in both eras."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from api.fields.inclusion_state import InclusionState
from api.http.responses import whole_example

ID = "0x8631ff244df25b700696ee8da84ff16f0b3d14112a70c1c8ae968d176afde6ff"


class MessageEvent(BaseModel):
    """A milestone referenced a message or block that has one of the subscribed tags or addresses."""

    event: Literal["message"]
    cursor: str
    milestoneIndex: int
    milestoneTimestamp: int | None
    messageId: str
    inclusionState: InclusionState
    tags: list[str]
    addresses: list[str]


class OutputEvent(BaseModel):
    """A subscribed output was created, or spent."""

    event: Literal["created", "spent"]
    cursor: str
    milestoneIndex: int
    milestoneTimestamp: int | None
    outputId: str
    transactionId: str
    messageId: str | None
    amount: str


class MilestoneEvent(BaseModel):
    """A milestone is complete in this archive. `milestoneId` is null if the archive does not have its payload."""

    event: Literal["milestone"]
    cursor: str
    milestoneIndex: int
    milestoneTimestamp: int | None
    milestoneId: str | None


class GapEvent(BaseModel):
    """These milestones are missing in this archive, or not complete. Their events are missing here."""

    event: Literal["gap"]
    cursor: str
    firstMilestone: int
    lastMilestone: int


Event: TypeAlias = Annotated[
    MessageEvent | OutputEvent | MilestoneEvent | GapEvent, Field(discriminator="event", title="Event")
]


class EventsResponse(BaseModel):
    """Events in order. `cursor` is where the next page begins, now or when there are new milestones."""

    model_config = whole_example(
        items=[
            {
                "event": "message",
                "cursor": f"10.0.{ID[2:]}",
                "milestoneIndex": 10,
                "milestoneTimestamp": 1700000100,
                "messageId": ID,
                "inclusionState": "noTransaction",
                "tags": ["0x484f524e4554205370616d6d6572"],
                "addresses": [],
            }
        ],
        cursor=f"10.0.{ID[2:]}",
    )
    items: list[Event]
    cursor: str
