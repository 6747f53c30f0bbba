"""The oracle ledgers as archive lines, stores that contain them, and servers over those stores that act as nodes.

Expected file contents come from the oracle's own JSON, never from the code that writes archive files.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from db.connect import StoreSettings
from ledger.eras import CHRYSALIS, STARDUST, Codec
from tests.api import processes
from tests.api.conftest import fill, fill_stardust
from tests.api.oracle import Oracle
from tests.api.stardust import StardustLedger
from tests.conftest import ROOT
from tests.etl.embedded import stores
from tests.reference import ORACLE

__all__ = ["stores"]

Json: TypeAlias = dict[str, Any]

ERAS = ["chrysalis", "stardust"]

on_both = pytest.mark.parametrize("ledger", ERAS, indirect=True)
"""For what has another form in each era. All other tests run over Chrysalis with --slow only."""


@dataclass(frozen=True)
class Ledger:
    """An oracle ledger, and a store that holds it."""

    codec: Codec
    store: StoreSettings
    milestones: list[Json]
    pending: list[Json]

    @property
    def entries(self) -> str:
        return "messages" if self.codec is CHRYSALIS else "blocks"

    @property
    def network(self) -> str:
        return self.store.network

    def lines(self, first: int, end: int) -> list[Json]:
        """The expected archive lines for milestones `first` ≤ m < `end`."""
        return [self._line(line) for line in self.milestones if first <= line["milestone"]["index"] < end]

    def _line(self, line: Json) -> Json:
        head, own = line["milestone"], "messageId" if self.codec is CHRYSALIS else "milestoneId"
        content = "message" if self.codec is CHRYSALIS else "block"
        names = ("referencedByMilestoneIndex", "ledgerInclusionState", "conflictReason")
        return {
            "milestone": {name: head[name] for name in ("index", "timestamp", own, "payload")},
            self.entries: [
                {
                    "id": entry["id"],
                    content: entry[content],
                    "metadata": {name: entry["metadata"][name] for name in names if name in entry["metadata"]},
                }
                for entry in line[self.entries]
            ],
        }


def environment(ledger: Ledger) -> dict[str, str]:
    """The environment variables of a command: the ledger's store and network."""
    return {
        "PERMANODE_STORE": ledger.store.url,
        "PERMANODE_NETWORK": ledger.network,
        "PERMANODE_STORE_PROTOCOL_PARAMETERS": ledger.store.protocol_parameters,
    }


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of a folder's files by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def settings_of(era: str, url: str, network: str) -> StoreSettings:
    parameters = str(ROOT / "sample" / "stardust" / "info.json") if era == "stardust" else ""
    return StoreSettings(url, network, protocol_parameters=parameters)


@pytest.fixture(scope="session", params=[pytest.param("chrysalis", marks=pytest.mark.slow), "stardust"])
def ledger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """Either oracle ledger, in a store that the naive reference filled."""
    return ledger_in(request.param, f"sqlite:///{tmp_path_factory.mktemp(request.param)}")


def ledger_in(era: str, url: str) -> Ledger:
    """The oracle ledger of one of ERAS, in a new store there."""
    if era == "chrysalis":
        oracle = Oracle.read(ORACLE)
        settings = settings_of(era, url, oracle.expected["network"])
        with closing(fill(settings, oracle)):
            return Ledger(CHRYSALIS, settings, oracle.milestones, oracle.pending)
    stardust = StardustLedger.read()
    settings = settings_of(era, url, stardust.network)
    with closing(fill_stardust(settings, stardust)):
        return Ledger(STARDUST, settings, list(stardust.milestones), list(stardust.pending))


@pytest.fixture(scope="session")
def node(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server over that store."""
    folder = Path(ledger.store.url.removeprefix("sqlite:///"))
    more = {"PERMANODE_STORE_PROTOCOL_PARAMETERS": ledger.store.protocol_parameters}
    log = tmp_path_factory.mktemp("node") / "log"
    with processes.permanode(folder, ledger.network, log, **more) as base:
        yield base
