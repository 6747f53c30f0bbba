"""Stores of several networks for one server, filled from the oracle ledgers by the naive references."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from db.connect import StoreSettings
from tests import reference, reference_stardust
from tests.api.conftest import fill, fill_stardust, filled_with
from tests.api.oracle import Json, Oracle
from tests.api.stardust import StardustLedger
from tests.api.wormhole_network import NETWORK as WORMHOLE
from tests.api.wormhole_network import World
from tests.etl.two_eras import FIRST, stardust_lines
from tests.reference_analytics import analytics_rows
from tests.reference_ledger import ledger_rows
from tests.reference_log import reference_log
from tests.reference_rows import Rows, table_rows

CONFIG = """
network = "{chrysalis}"

[networks.{chrysalis}]
url = "{chrysalis_url}"

[networks.{stardust}]
url = "{stardust_url}"
protocol_parameters = "{folder}/info.json"
bech32_hrp = "{hrp}"

[networks.{wormhole}]
url = "{wormhole_url}"
"""

DEFAULTS = """
[api]
stardust_network = "{stardust}"
"""

TWO_ERAS = "two-eras"
"""A network of both eras: Stardust milestones follow the Chrysalis oracle ledger and spend its outputs."""

GAPS = "with-gaps"
"""The Chrysalis oracle ledger without the milestones MISSING, and so without a ledger state."""

MISSING = range(21, 31)

MORE = """
[networks.{two_eras}]
url = "{two_eras_url}"
bech32_hrp = "atoi"
stardust_from = {first}

[networks.{gaps}]
url = "{gaps_url}"
bech32_hrp = "atoi"
"""


def fill_networks(
    folder: Path, oracle: Oracle, stardust: StardustLedger, world: World, *, url: Callable[[str], str] | None = None
) -> Path:
    """Returns the configuration of a server with three networks: both oracle ledgers and Wormhole messages.

    The Chrysalis network is the default one. `url`: name of a network → URL of its store; default: SQLite stores in
    `folder`.
    """
    place = url or (lambda name: f"sqlite:///{folder}/{name}")
    chrysalis, hrp = oracle.expected["network"], stardust.expected["bech32Hrp"]
    with closing(fill(StoreSettings(place("chrysalis"), chrysalis), oracle)) as store:
        reference_log(chrysalis, oracle.milestones).write(store)
    fill_stardust(StoreSettings(place("stardust"), stardust.network, bech32_hrp=hrp), stardust).close()
    world.fill(StoreSettings(place("wormhole"), WORMHOLE)).close()
    (folder / "info.json").write_text(json.dumps(stardust.expected["info"]), "utf-8")
    names = {"chrysalis": chrysalis, "stardust": stardust.network, "wormhole": WORMHOLE}
    urls = {f"{name}_url": place(name) for name in names}
    config = folder / "permanode.toml"
    config.write_text((CONFIG + DEFAULTS).format(folder=folder, hrp=hrp, **names, **urls), "utf-8")
    return config


def fill_more_networks(folder: Path, oracle: Oracle, config: Path) -> None:
    """Adds to a configuration of fill_networks the networks TWO_ERAS and GAPS, with SQLite stores in `folder`."""
    urls = {f"{name}_url": f"sqlite:///{folder}/{name}" for name in ("two_eras", "gaps")}
    two_eras = StoreSettings(urls["two_eras_url"], TWO_ERAS)
    filled_with(two_eras, two_eras_rows(oracle, two_eras, stardust_lines())).close()
    gaps = StoreSettings(urls["gaps_url"], GAPS)
    present = [line for line in oracle.milestones if line["milestone"]["index"] not in MISSING]
    filled_with(gaps, reference.reference_rows(present, [], gaps.chunk_size, gaps.partition_size, GAPS)).close()
    with config.open("a", encoding="utf-8") as file:
        file.write(MORE.format(two_eras=TWO_ERAS, first=FIRST, gaps=GAPS, **urls))


def two_eras_rows(oracle: Oracle, settings: StoreSettings, lines: Sequence[Json]) -> Rows:
    """The rows of the Chrysalis oracle ledger and these Stardust lines after it, with ledger state and analytics."""
    geometry = settings.chunk_size, settings.partition_size
    facts = [reference.milestone_fact(line) for line in oracle.milestones]
    facts += [reference_stardust.milestone_fact(line) for line in lines]
    genesis = reference.genesis_fact(reference.read_json(reference.ORACLE / "genesis.json"))
    rows = table_rows(facts, [], *geometry, settings.network)
    ledger_rows(rows, facts, genesis, settings.network, *geometry)
    return rows | analytics_rows(facts, genesis, settings.network, settings.chunk_size)
