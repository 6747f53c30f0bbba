"""The address prefix and the parameters of a network without settings: from the file with its parameters, else from the
data of its store.
"""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.network import NetworkMount
from cli.serving import mount
from db import schema
from db.connect import StoreSettings, open_store
from tests.ledger.cases import load
from tests.sqlite_stores import create

CASES = load("protocol_parameters", "stardust")


def mounted(settings: StoreSettings) -> NetworkMount:
    network = mount(settings)
    network.store.close()  # type: ignore[attr-defined]
    return network


@pytest.fixture
def settings(tmp_path: Path) -> StoreSettings:
    settings = StoreSettings(f"sqlite:///{tmp_path}/store", "elsewhere-1")
    create(settings)
    return settings


def case(hrp: str) -> dict[str, Any]:
    """Real parameters with that prefix."""
    return next(each for each in CASES if each["json"]["bech32Hrp"] == hrp)


def announce(settings: StoreSettings, from_milestone: int, announced_by: int, params: str) -> None:
    with closing(open_store(settings, writable=True)) as store, store.batch() as batch:
        row = (settings.network, from_milestone, announced_by, 2, bytes.fromhex(params.removeprefix("0x")))
        batch.upsert(schema.protocol_parameters, schema.protocol_parameters.names, [row])


def test_without_any_data_it_is_a_test_network(settings: StoreSettings) -> None:
    network = mounted(settings)
    assert (network.bech32_hrp, network.parameters) == ("atoi", None)


def test_the_file_with_the_parameters_has_the_prefix(settings: StoreSettings, tmp_path: Path) -> None:
    document = case("smr")["json"] | {"bech32Hrp": "tst"}
    (tmp_path / "info.json").write_text(json.dumps({"protocol": document}))
    given = replace(settings, protocol_parameters=str(tmp_path / "info.json"))
    assert mounted(given).bech32_hrp == "tst"
    assert mounted(replace(given, bech32_hrp="mine")).bech32_hrp == "mine"


def test_the_newest_announced_parameters_have_the_prefix(settings: StoreSettings) -> None:
    older, newer = case("tst"), case("smr")
    announce(settings, 5, 3, older["bytes_hex"])
    assert mounted(settings).bech32_hrp == "tst"
    announce(settings, 9, 7, newer["bytes_hex"])
    network = mounted(settings)
    assert network.bech32_hrp == "smr"
    assert network.parameters is not None
    assert str(network.parameters.token_supply) == newer["json"]["tokenSupply"]
    # Of a built-in network the prefix is known.
    assert mounted(replace(settings, bech32_hrp="mine")).bech32_hrp == "mine"


def test_a_store_without_settings_accepts_a_prefix_later(settings: StoreSettings) -> None:
    """A store that was created without a prefix can be opened with and without one."""
    for each in (settings, replace(settings, bech32_hrp="tst"), settings):
        open_store(each).close()
