"""A network's eras: from its name, from settings, and otherwise from the data."""

import json
from pathlib import Path

import pytest

from db.connect import StoreSettings
from ledger.eras import CHRYSALIS, STARDUST
from ledger.ids import network_id
from tests.ledger.cases import load

PROTOCOL = load("protocol_parameters", "stardust")[1]["json"]


def settings(network: str, **known: object) -> StoreSettings:
    return StoreSettings("sqlite:///nowhere", network, **known)  # type: ignore[arg-type]


def versions(store: StoreSettings, *milestones: int, only=CHRYSALIS) -> list[int]:
    return [store.eras(only).at(each).codec.protocol_version for each in milestones]


def test_public_networks_are_known_by_name():
    assert versions(settings("mainnet"), 0, 7_669_900, 7_669_901) == [1, 1, 2]
    eras = settings("mainnet").eras(STARDUST)
    ids = [eras.at(index).network_id for index in (1, 8_000_000)]
    assert ids == [1454675179895816119, 9374574019616453254]
    shimmer = settings("shimmer").eras(CHRYSALIS)
    assert (len(shimmer.eras), shimmer.at(1).network_id) == (1, 14364762045254553490)
    assert settings("shimmer").info()["bech32_hrp"] == "smr"


def test_a_setting_wins_over_what_is_known():
    store = settings("mainnet", stardust_from=50, chrysalis_name="one", stardust_name="two", bech32_hrp="my")
    eras = store.eras(CHRYSALIS)
    assert versions(store, 49, 50) == [1, 2]
    assert [eras.at(index).network_id for index in (49, 50)] == [network_id("one"), network_id("two")]
    assert store.info()["bech32_hrp"] == "my"


@pytest.mark.parametrize("codec", [CHRYSALIS, STARDUST])
def test_another_network_is_of_one_era_until_configured(codec):
    store = settings("mine")
    assert versions(store, 0, 1, 10**9, only=codec) == [codec.protocol_version] * 3
    other = STARDUST if codec is CHRYSALIS else CHRYSALIS
    assert store.eras(codec).read_by(other) is None
    assert store.eras(codec).at(5).network_id == network_id("mine")


@pytest.mark.parametrize("first", [0, 1])
def test_stardust_from_the_first_milestone_on_leaves_no_chrysalis(first):
    assert versions(settings("mine", stardust_from=first), 0, 1, only=CHRYSALIS) == [2, 2]


@pytest.mark.parametrize("document", [PROTOCOL, {"name": "HORNET", "protocol": PROTOCOL}])
def test_protocol_parameters_are_a_node_s(tmp_path: Path, document):
    path = tmp_path / "info.json"
    path.write_text(json.dumps(document))
    era = settings("mine", stardust_from=9, protocol_parameters=str(path)).eras(CHRYSALIS).at(9)
    parameters = era.parameters_at(9)
    assert parameters is not None
    assert (parameters.network_name, str(parameters.token_supply)) == (PROTOCOL["networkName"], PROTOCOL["tokenSupply"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file"),
        ("{", "unexpected end"),
        ("{}", "rentStructure: expected"),
        ("5", "value: expected an object"),
    ],
)
def test_parameters_that_cannot_be_read_are_named(tmp_path: Path, text, reason):
    path = tmp_path / "info.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=rf"protocol_parameters: {path}: .*{reason}"):
        settings("mine", stardust_from=9, protocol_parameters=str(path)).eras(CHRYSALIS)
