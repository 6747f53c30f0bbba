"""Answers of the indexer (TIP-26).

Rules of this file: as in responses_v2.py.
"""

from pydantic import BaseModel

from api.http.responses import omitted, whole_example


class IndexedOutputs(BaseModel):
    """Ids of outputs, true at ledgerIndex; `cursor` only while there are more. `pageSize` 0: a single one was asked."""

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
