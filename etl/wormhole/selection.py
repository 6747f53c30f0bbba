"""Which emitters a selective Wormhole store keeps (docs/decisions/0044-selective-permanode.md).

The messages of governance are always kept: the guardian sets that verify all others follow from them. A VAA is proved
by its own signatures, so nothing else is stored with it.
"""

from collections.abc import Sequence

from db.coverage import KEPT, Coverage, format_coverage
from db.schema import keyspace_info
from etl.lake.coverage import read_coverage, write_coverage
from etl.wormhole.decode_worker import Emitters
from etl.writers.publish import Publication
from ledger.selection import EMITTER, parse_filters
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER


def choose_emitters(publication: Publication, keep: Sequence[str]) -> Emitters | None:
    """Returns the emitters that are kept, after adding those of `keep` to the lake and the store. None: all.

    Raises ValueError for an invalid filter, and for a store that keeps all messages.
    """
    lake = publication.lake
    held = read_coverage(lake)
    if held is None and not keep:
        return None
    if held is None and lake.has("vaas"):
        raise ValueError("--keep: this store or its lake has all messages. Load a selection into others")
    added = parse_filters(keep, kinds=(EMITTER,)) if keep else frozenset()
    coverage: Coverage = {**{each: [] for each in added}, **(held or {})}
    if held is None or coverage.keys() != held.keys():
        write_coverage(lake, coverage)
    if publication.reads.info(KEPT) != (text := format_coverage(coverage)):
        with publication.store.batch() as batch:
            batch.upsert(keyspace_info, keyspace_info.names, [(KEPT, text)])
    return frozenset({(GOVERNANCE_CHAIN, GOVERNANCE_EMITTER), *((each.first, each.value) for each in coverage)})
