"""The document of a proof (ledger/completeness/document.py), as far as clients need its fields, and the members that
`proof=complete` adds to a page of a listing.
"""

from typing import Any

from pydantic import BaseModel

from api.http.responses import omitted, whole_example

CHECKPOINT = (
    "permanode/permatest-1/1\n204\nKk19FyyfSBDtmixgS9usfIt5cNkSGDSxYijOTBGCb/s=\n\n"
    "— permanode/permatest-1/1 M9nd5QAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
)


class NeighbourOfKey(BaseModel):
    """A key beside the one that is missing. `root` is Base64."""

    family: int
    key: str
    count: int
    root: str


class MissingKey(BaseModel):
    """An interval without rows of the key: the keys before and after it are adjacent. `path` is Base64."""

    index: int
    neighbours: list[NeighbourOfKey]
    path: str


class FoundKey(BaseModel):
    """An interval with rows of the key. `rows` proves those of the page; without it the page has all of them. `path` is
    Base64.
    """

    index: int
    count: int
    rows: Any = omitted()
    path: str


class IntervalOfListing(BaseModel):
    """What one interval of milestones contains about the key: `present` or `absent`."""

    keys: int
    present: FoundKey = omitted()
    absent: MissingKey = omitted()


class ListingDocument(BaseModel):
    """A page of a listing and its proof. Save the response unchanged: a checker compares its bytes."""

    model_config = whole_example(
        version=1,
        network="permatest-1",
        first=1,
        family="messages_by_tag",
        key="746167",
        to=199,
        total=5,
        index=3,
        rows=[
            "AAAAZKuvhlDSoE+ygskv/eSHR9PD3iIhE/MnLeCLbOeDk9Du",
            "AAAAl8PvpoGJygyFJnHJsBP9DrkBF4ep1fgdzDnHS0VnVcWc",
        ],
        intervals=[
            {
                "keys": 4,
                "present": {
                    "index": 1,
                    "count": 3,
                    "rows": "JGlYT6wS8esPzd3yqehGly4LlzVOXKXtM0hW1clivds=",
                    "path": "qZNPMl0AS63zdVJby0JPTKgNdS2v7JKyBa6JYWWyZeqoeYRqxFRZ+aXbXY4JxoGgT0hAhaQecZqbUj2kxlt2tA==",
                },
            },
            {"keys": 2, "present": {"index": 0, "count": 2, "path": "vNzd45LBIFEpXYrPIbf97LjZXEFVGohrDKHyQiCH4U8="}},
        ],
        log_path="XKxtcKqrmDKYBwc4e0vsGV1zqnIj/uKuadLcI1O8v150dkwgE99MIoYyjZu4Bk8uOWjUHTiYiI1hPQImTAc/aQ==",
        checkpoint=CHECKPOINT,
    )
    version: int
    network: str
    first: int
    family: str
    key: str
    to: int
    total: int
    index: int
    rows: list[str]
    intervals: list[IntervalOfListing]
    log_path: str
    checkpoint: str


class ProvedPage(BaseModel):
    """`completeTo` and `proof` are present with `proof=complete`. The document proves the rows of the page up to the
    milestone `completeTo`.
    """

    completeTo: int = omitted()
    proof: ListingDocument = omitted()


class PageOfProvedLists(BaseModel):
    """`completeTo` and `proofs` are present with `proof=complete`: a document for each kind of output and role that the
    page merges. They prove the rows of the page in milestones up to `completeTo`.
    """

    completeTo: int = omitted()
    proofs: list[ListingDocument] = omitted()
