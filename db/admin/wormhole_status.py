"""The status of a Wormhole store for operators: VAAs by day and verdict, duplicates, gaps.

The functions return values, not text. Sums by day cover all messages. What only rows show covers the first EXAMINED
rows by chain, emitter and sequence; `is_whole` reports whether these are all. The result depends only on the loaded
data, not on when it was loaded.
"""

from collections import Counter

from db.intervals import of_indices
from db.queries.wormhole.daily import NO_DAY, each_day_of_all
from db.queries.wormhole.holdings import VERIFIED, EmitterGaps, Holdings
from db.queries.wormhole.vaas import emitted_source, list_emitters, list_vaas
from db.store import Row, Store
from db.together import together
from db.utc_days import format_day
from ledger.wormhole.chains import CHAIN_IDS
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER

EXAMINED = 200_000
EMITTERS_OF_CHAIN = 10_000
"""Rows of `vaas` that a status reads, and the most emitters per chain."""

GAPS_SHOWN = 100
"""The most emitters with gaps in a status: those with most missing messages."""

BATCH = 1_000
COLUMNS = ("sequence_key", "digest", "canonical", "verified", "fault", "digests")


async def get_holdings(store: Store) -> Holdings:
    """Reads everything: one read per day since Wormhole began or with messages, one per chain, and EXAMINED rows.

    Chains are those with a known number, and those with verified messages.
    """
    found = Holdings()
    chains = sorted({*CHAIN_IDS, *await _sum_days(store, found)})
    newest = await list_vaas(store, [("recent", "")], newest=True, page_size=1, cursor=None)
    found.newest_s = next((row["timestamp"] for row in newest.rows if row["timestamp"]), None)
    held = await together(*(list_emitters(store, chain, EMITTERS_OF_CHAIN) for chain in chains))
    found.emitters = sum(map(len, held))
    found.is_whole = all(len(each) < EMITTERS_OF_CHAIN for each in held)
    verdicts: Counter[str] = Counter()
    gaps = []
    for chain, emitter in ((chain, each) for chain, emitters in zip(chains, held, strict=True) for each in emitters):
        if found.examined >= EXAMINED:
            found.is_whole = False
            break
        gap = await _walk(store, chain, emitter, found, verdicts)
        if gap is not None and gap.missing:
            gaps.append(gap)
    found.verdicts = dict(verdicts.most_common())
    found.missing, found.gap_count = sum(each.missing for each in gaps), sum(each.gaps for each in gaps)
    found.gaps = sorted(gaps, key=lambda each: -each.missing)[:GAPS_SHOWN]
    return found


async def _sum_days(store: Store, found: Holdings) -> set[int]:
    """Counts messages by day. Returns the chains of the emitters."""
    days: Counter[int] = Counter()
    chains = set()
    async for day, rows in each_day_of_all(store, "totals"):
        days[day] += sum(row["message_count"] for row in rows)
        chains |= {row["emitter_chain"] for row in rows}
    found.verified, found.undated = days.total(), days.pop(NO_DAY, 0)
    dated = of_indices(day for day, count in days.items() if count)
    found.days = [(format_day(low), format_day(high)) for low, high in dated]
    return chains


async def _walk(store: Store, chain: int, emitter: str, found: Holdings, verdicts: Counter[str]) -> EmitterGaps | None:
    """Counts the examined rows of an emitter and returns its gaps. None if nothing is verified, and for governance,
    whose sequences are random.
    """
    stream = emitted_source(chain, emitter, COLUMNS)(store, None, False)  # noqa: FBT003
    of_emitter: EmitterGaps | None = None
    written: str | None = None
    while rows := await stream.next(min(BATCH, EXAMINED - found.examined)):
        found.examined += len(rows)
        for row in rows:
            if not row["digest"]:
                written = row["sequence_key"]
                found.written_alone += 1
            if not row["canonical"]:
                continue
            if row["sequence_key"] == written:
                found.written_alone -= 1
            verdicts[VERIFIED if row["verified"] else row["fault"]] += 1
            if row["verified"]:
                found.duplicates += row["digests"] > 1
                of_emitter = _counted(of_emitter, chain, emitter, row)
        if found.examined >= EXAMINED:
            # One extra row is enough to know whether there are more.
            found.is_whole = found.is_whole and not await stream.next(1)
            break
    return None if (chain, emitter) == (GOVERNANCE_CHAIN, GOVERNANCE_EMITTER.hex()) else of_emitter


def _counted(before: EmitterGaps | None, chain: int, emitter: str, row: Row) -> EmitterGaps:
    sequence = int(row["sequence_key"])
    if before is None:
        return EmitterGaps(chain, emitter, sequence, sequence)
    if sequence > before.last + 1:
        before.missing += sequence - before.last - 1
        before.gaps += 1
    before.last = sequence
    return before
