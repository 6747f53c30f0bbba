"""The stores of bench.attack: a Wormhole network with 568,014 rows of daily sums, and an IOTA network with a milestone
whose changes are a response of 15.9 MB.

Both are generated and written without a load. Everything is reproducible.
"""

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from db import schema
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.model import Table
from db.queries.wormhole.daily import LAUNCH_DAY
from db.schema import wormhole_tables as tables
from db.store import Value
from db.utc_days import this_day
from ledger.wormhole.allowlist import allowed_tokens
from ledger.wormhole.chains import CHAIN_IDS

WORMHOLE, IOTA = "wormhole-mainnet", "attack-1"

DAILY_ROWS = 568_014
TOKENS, RECIPIENTS = 400, 200
CHANGES = 222_000
"""Outputs in the milestone; each id is 68 hex digits."""

MILESTONE, LAST_MILESTONE = 5, 10
AT_ONCE = 20_000

DAILY = (
    "measure", "day", "emitter_chain", "emitter_address", "target_chain", "token_key", "address", "message_count",
    "amount", "notional_usd",
)  # fmt: skip


def write_settings(folder: Path) -> Path:
    """Fills both stores below a folder. Returns a settings file that serves them."""
    wormhole = StoreSettings(f"sqlite:///{folder / 'wormhole'}", WORMHOLE)
    iota = StoreSettings(f"sqlite:///{folder / 'iota'}", IOTA)
    fill(wormhole, tables.vaa_daily, DAILY, daily_rows())
    fill(wormhole, tables.tokens, ("token_key", "symbol", "decimals"), ((key, f"T{n}", 8) for n, key in tokens()))
    guardians = (WORMHOLE, 0, '["58cc3ae5c097b213ce3c81979e1b9f9570746aa5"]', 0)
    fill(wormhole, tables.guardian_sets, ("network", "guardian_set_index", "addresses", "since"), [guardians])
    frontier = [(IOTA, 0), (IOTA, LAST_MILESTONE)]
    fill(iota, schema.ledger_frontier, ("network", "ledger_index"), frontier)
    complete = (IOTA, 0, f"[[1,{LAST_MILESTONE}]]", "[]", LAST_MILESTONE, CHANGES, 1, 2, 1, schema.LAYOUT, "[]")
    fill(iota, schema.ranges, schema.ranges.names, [complete])
    names = ("milestone_index", "output_id", "is_spent", "white_flag_index", "idx", "address", "amount")
    fill(iota, schema.ledger_updates_by_milestone, names, changes())
    file = folder / "permanode.toml"
    file.write_text(
        f'network = "{IOTA}"\n[networks."{IOTA}"]\nurl = "{iota.url}"\n'
        f'[networks."{WORMHOLE}"]\nurl = "{wormhole.url}"\n'
    )
    return file


def fill(settings: StoreSettings, table: Table, columns: Sequence[str], rows: Iterable[tuple[Value, ...]]) -> None:
    """Creates the store if it does not exist, and writes rows of a table."""
    migrate(settings)
    store = open_store(settings, writable=True)
    left = iter(rows)
    while part := list(islice(left, AT_ONCE)):
        with store.batch() as batch:
            batch.upsert(table, columns, part)
    store.close()


def tokens() -> Iterator[tuple[int, str]]:
    """Tokens whose value counts, by number, as token_key."""
    listed = allowed_tokens("mainnet", this_day())
    assert listed is not None
    yield from enumerate(sorted(listed)[:TOKENS])


def daily_rows() -> Iterator[tuple[Value, ...]]:
    """Rows of vaa_daily, the same number for each day since the launch: transfers, some addresses and totals."""
    days = range(LAUNCH_DAY, this_day() + 1)
    rng = random.Random(7)
    named = list(tokens())
    emitters = {chain: hashlib.sha256(b"bridge %d" % chain).digest() for chain in sorted(CHAIN_IDS)[1:9]}
    pairs = [(chain, to, key) for chain in emitters for to in emitters if to != chain for _, key in named]
    per_day = DAILY_ROWS // len(days)
    written = 0
    for day in days:
        for chain, emitter in emitters.items():
            yield "totals", day, chain, emitter, 0, "", "", rng.randint(1, 10_000), None, None
        written += len(emitters)
        recipients = per_day // 50
        for number in range(recipients):
            address = hashlib.sha256(b"recipient %d" % (number % RECIPIENTS)).hexdigest()
            chain = sorted(emitters)[number % len(emitters)]
            usd = f"{rng.randint(1, 10**8)}.25"
            yield "addresses", day, chain, emitters[chain], chain, "", address, 3, None, usd
        written += recipients
        rest = DAILY_ROWS - written if day == days[-1] else per_day - len(emitters) - recipients
        for chain, to, key in rng.sample(pairs, rest):
            amount, usd = f"{rng.randint(1, 10**9)}.5", f"{rng.randint(1, 10**7)}.125"
            yield "transfers", day, chain, emitters[chain], to, key, "", rng.randint(1, 9), amount, usd
        written += rest


def changes() -> Iterator[tuple[Value, ...]]:
    """The outputs that the milestone created, one hundred per message."""
    ids = (hashlib.blake2b(b"output %d" % number, digest_size=32).digest() + b"\0\0" for number in range(CHANGES))
    for number, output_id in enumerate(islice(ids, CHANGES)):
        yield MILESTONE, output_id, 0, number // 100, number % 100, b"\0" + output_id[:32], 1_000_000
