"""Servers over the oracle ledgers with trees of listings and a signed log, in intervals of five milestones."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.handlers import listing_proofs
from api.network import NetworkMount
from db.connect import StoreSettings
from ledger.completeness import check, intervals, trees
from ledger.completeness.check import LogHead
from ledger.completeness.families import BY_NAME, BY_NUMBER
from ledger.completeness.trees import place_of
from ledger.transparency import positions
from ledger.transparency.keys import SigningKey
from tests import reference_stardust
from tests.api.conftest import GEOMETRIES, filled_with
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.db.stored_listings import write_log, write_trees
from tests.ledger.completeness.ledgers import Archive
from tests.ledger.completeness.reference import Listing
from tests.reference import whole_rows
from tests.reference_completeness import listings

SMALLEST, LAST, END = 5, 50, 49


@dataclass(frozen=True)
class Proved:
    """A server of one network, the rows of its listings, and its log. `archive`: the same in memory."""

    app: Any
    network: str
    hrp: str
    rows: Mapping[Listing, list[bytes]]
    head: LogHead
    migrated: frozenset[str]
    """Messages whose milestone migrated funds to an address, which Chronicle's transactions leave out."""
    archive: Archive

    def keys(self, family: str, count: int = 4) -> list[bytes]:
        """Keys of a family: those with most rows, and one of the others."""
        number = BY_NAME[family].number
        found = sorted((key for each, key in self.rows if each == number), key=lambda key: -len(self.rows[number, key]))
        return [*found[: count - 1], *found[-1:]]

    def of(self, family: str, key: bytes) -> list[bytes]:
        """All rows of a listing, also those above END."""
        return self.rows.get((BY_NAME[family].number, key), [])

    async def get(self, path: str, query: Mapping[str, Any], accept: str = "application/json") -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://test/api/{self.network}") as client:
            return await client.get(path, params=query, headers={"accept": accept})


LEDGERS = ("chrysalis", "stardust")


@contextmanager
def served(ledger: str, folder: Path, oracle: Oracle, stardust: StardustLedger) -> Iterator[Proved]:
    """A server of one of LEDGERS, with a store in `folder`. Intervals have SMALLEST milestones meanwhile."""
    is_stardust = ledger == "stardust"
    network = stardust.network if is_stardust else oracle.expected["network"]
    settings = StoreSettings(f"sqlite:///{folder}", network, *GEOMETRIES["tiny"])
    of_ledger = (stardust.milestones, stardust.pending) if is_stardust else (oracle.milestones, oracle.pending)
    make_rows = reference_stardust.whole_rows if is_stardust else whole_rows
    rows = make_rows(*of_ledger, *GEOMETRIES["tiny"], network)
    with pytest.MonkeyPatch.context() as patch:
        for module in (intervals, trees, check, positions, listing_proofs):
            patch.setattr(module, "SMALLEST", SMALLEST)
        of_listing = listings(dict(rows), 0)
        by_place = {place_of(BY_NUMBER[number], key): each for (number, key), each in of_listing.items()}
        archive = Archive(by_place, 1, LAST, network)
        with closing(filled_with(settings, rows)) as store:
            write_trees(store, archive, END, settings.chunk_size)
            signed = write_log(store, archive, SigningKey(f"permanode/{network}/1", bytes(32)))
            of_chrysalis = NetworkMount(store, network, oracle.expected["bech32Hrp"], is_of_one_era=True)
            mount = stardust.mount(store) if is_stardust else of_chrysalis
            app = create_app({network: mount}, network, ApiSettings())
            of_addresses = rows["transactions_by_address"]
            migrated = frozenset(row["message_id"] for row in of_addresses if row["direction"] == "migrated")
            head = LogHead(signed.size, signed.root)
            yield Proved(app, network, mount.bech32_hrp, of_listing, head, migrated, archive)
