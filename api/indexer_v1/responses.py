"""Responses of the indexer API (TIP-26)."""

from api.fields.listing_proof_responses import PageOfProvedLists
from api.http.responses import omitted, whole_example


class IndexedOutputs(PageOfProvedLists):
    """Ids of outputs at ledgerIndex. `cursor` is present only if there are more. `pageSize` is 0 in the response for
    a single output.
    """

    model_config = whole_example(
        ledgerIndex=50,
        pageSize=2,
        cursor="x4RvWq9TQ6NbNDQsIjYyYzJi.2",
        items=[
            "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d0000",
            "0x071809521dc7eb42c3a3c267a32e81e152dc1d8dde0b5b8389e466f676ef011d0100",
        ],
    )
    ledgerIndex: int
    pageSize: int
    cursor: str = omitted()
    items: list[str]
