"""Finds the bodies among the cells of a message, with the verdict of each.

A body is verified if one of its VAAs is, or the one that is assembled from single signatures. The result depends only
on the set of cells and the guardian sets.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from db.schema.event_columns import QUORUM
from etl.wormhole.assembly import assemble_vaa
from etl.wormhole.cells import Cell
from ledger.wormhole.payloads import Payload, decode_payload
from ledger.wormhole.vaa import Vaa, decode_vaa, digest, encode_vaa
from ledger.wormhole.verify import History, Verdict, verify


@dataclass(slots=True)
class Body:
    """A body with a given id: the served form, its verification result, and when it was first seen."""

    digest: bytes
    data: bytes
    vaa: Vaa
    verdict: Verdict
    seen_ms: int | None
    forms: list[tuple[Vaa, Verdict]]
    payload: Payload


def find_bodies(network: str, cells: Sequence[Cell], history: History) -> list[Body]:
    """The bodies of a message by ascending digest, from all its cells with VAAs and signatures."""
    by_digest: dict[bytes, list[Cell]] = defaultdict(list)
    forms: dict[bytes, Vaa] = {}
    for cell in cells:
        if cell.family == QUORUM:
            vaa = forms.setdefault(cell.value, decode_vaa(cell.value))
            by_digest[digest(vaa)].append(cell)
    bodies = []
    for signed, held in sorted(by_digest.items()):
        judged = {data: verify(forms[data], history, signed) for data in {cell.value for cell in held}}
        made = assemble_vaa(signed, [(forms[data], judged[data]) for data in sorted(judged)], cells, history)
        if made is not None:
            data = encode_vaa(made)
            forms[data], judged[data] = made, verify(made, history, signed)
        data = min(judged, key=lambda each: (not judged[each].verified, -len(judged[each].signers), each))
        times = [cell.time_ms for cell in held if cell.time_ms is not None]
        both = [(forms[each], verdict) for each, verdict in sorted(judged.items())]
        payload = decode_payload(network, forms[data])
        bodies.append(Body(signed, data, forms[data], judged[data], min(times, default=None), both, payload))
    return bodies
