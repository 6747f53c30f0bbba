"""Parameters of subscriptions: what to list, and where to begin."""

from dataclasses import replace
from typing import Annotated, Any

from api.fields.params import ADDRESS, INDEX_MAX, PAGE_SIZE, TAG_MAX_BYTES
from api.fields.params import bech32 as bech32_type
from api.fields.stardust_params import OUTPUT_ID_TYPE
from api.http.page_sizes import EXPLORER_V2, MAXIMUM
from api.http.params import Param, comma_separated, converted, flag, hexadecimal, page_size, text
from db.queries.events import END, Place

KEYS_MAX = 20
"""Maximum number of keys of one kind in a subscription."""

TAG_TYPE = hexadecimal(1, TAG_MAX_BYTES, may_have_0x=True)

CURSOR = "cursor"


def format_place(place: Place) -> str:
    """Returns a place as text: the milestone, and unless all of it precedes, the kind and the id."""
    return str(place.milestone_index) if place.kind == END else f"{place.milestone_index}.{place.kind}.{place.id}"


def parse_place(given: str) -> Place:
    """Reads a place. Raises ValueError."""
    index, *rest = given.split(".")
    if int(index) > INDEX_MAX:
        raise ValueError("no milestone has this index")
    return Place(int(index), int(rest[0]), rest[1]) if rest else Place(int(index))


_FORM = r"[0-9]{1,10}(\.0\.[0-9a-f]{64}|\.[12]\.[0-9a-f]{68})?"


def place_type(pattern: str) -> Any:
    """The type of a place whose text has this form."""
    return converted(text("the index of a milestone, or the `cursor` of an event", pattern=pattern), parse_place)


PLACE = place_type(f"^{_FORM}$")
PLACE_OR_EMPTY = place_type(f"^({_FORM})?$")
"""For a header: OpenAPI has allowEmptyValue only for queries."""

Milestones = Annotated[
    bool | None, flag("milestones", "Each milestone. Default: true without a tag, an address or an output, else false")
]
Tags = Annotated[
    tuple[str, ...] | None,
    Param(
        "tag",
        comma_separated(
            TAG_TYPE, "hex of tags or indexes, separated by commas", "(0[xX])?[0-9a-fA-F]{2,128}", KEYS_MAX
        ),
        "Messages with one of these tags or indexes",
        "0x484f524e4554205370616d6d6572",
    ),
]
Addresses = Annotated[
    tuple[tuple[str, bytes], ...] | None,
    Param(
        "address",
        comma_separated(
            bech32_type(),
            "bech32 addresses of this network, separated by commas",
            "[A-Za-z]{1,30}1[02-9AC-HJ-NP-Zac-hj-np-z]{59}",
            KEYS_MAX,
            format="bech32",
        ),
        "Messages whose transaction pays one of these addresses, or is signed by it",
        ADDRESS.example,
    ),
]
Outputs = Annotated[
    tuple[str, ...] | None,
    Param(
        "output",
        comma_separated(OUTPUT_ID_TYPE, "ids of outputs, separated by commas", "(0[xX])?[0-9a-fA-F]{68}", KEYS_MAX),
        "The creation and the spending of these outputs",
        "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d0000",
    ),
]
After = Annotated[
    Place | None,
    Param(
        CURSOR,
        PLACE,
        "Only events after this one, or after this milestone. By default a page begins with the first milestone, and a "
        "stream with the next event",
        "10",
        empty_is_none=True,
    ),
]
LastEventId = Annotated[
    Place | None,
    Param(
        "Last-Event-ID",
        PLACE_OR_EMPTY,
        "The id of the last event of an interrupted stream, which browsers send by themselves; it precedes `cursor`",
        "10",
        "header",
        empty_is_none=True,
    ),
]
Follow = Annotated[bool, flag("follow", "Whether a stream continues when it has reached the newest milestone", "true")]
EventsPageSize = Annotated[int, replace(PAGE_SIZE, **page_size(EXPLORER_V2, 100), name="pageSize", example=MAXIMUM)]
