"""Ids, network ids, the Merkle root and the white-flag order, compared with their definitions and with known values."""

from collections.abc import Sequence
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import ids
from ledger.crypto.merkle import merkle_root
from ledger.networks import Network, find_network
from ledger.white_flag import white_flag_order
from tests.ledger.cases import load

IDS = st.binary(min_size=32, max_size=32)


def test_merkle_root_of_the_specification() -> None:
    vector = load("merkle")
    assert merkle_root([bytes.fromhex(leaf) for leaf in vector["leaves"]]).hex() == vector["root"]
    assert merkle_root([]).hex() == vector["empty"]


def defined_root(leaves: Sequence[bytes]) -> bytes:
    """The Merkle root of TIP-4, written recursively: split at the largest power of two below the count."""
    if len(leaves) == 1:
        return blake2b(b"\0" + leaves[0], digest_size=32).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    left, right = defined_root(leaves[:split]), defined_root(leaves[split:])
    return blake2b(b"\1" + left + right, digest_size=32).digest()


@given(st.lists(IDS, min_size=1, max_size=70))
def test_merkle_root_is_as_defined_for_every_count(leaves: list[bytes]) -> None:
    assert merkle_root(leaves) == defined_root(leaves)


@pytest.mark.parametrize("cone", load("white_flag"), ids=lambda cone: cone["source"])
def test_order_and_root_of_whole_cones(cone: dict) -> None:  # type: ignore[type-arg]
    messages = {bytes.fromhex(each["id"]): each for each in sorted(cone["messages"], key=lambda each: each["id"])}
    parents = {key: [bytes.fromhex(parent) for parent in each["parents"]] for key, each in messages.items()}
    order = white_flag_order(bytes.fromhex(cone["milestone_message_id"]), parents)
    assert [messages[each]["white_flag_index"] for each in order] == [*range(len(messages) - 1), None]
    included = [each for each in order if messages[each]["included"]]
    assert merkle_root(included).hex() == cone["inclusion_merkle_proof"]


@st.composite
def tangles(draw: st.DrawFn) -> dict[bytes, list[bytes]]:
    """Messages whose parents are earlier messages or outside ones; the last is the milestone's."""
    parents: dict[bytes, list[bytes]] = {}
    for number in range(draw(st.integers(1, 30))):
        known = [*parents, b"outside", b"elsewhere"]
        parents[b"m%d" % number] = draw(st.lists(st.sampled_from(known), min_size=1, max_size=8))
    return parents


@given(tangles())
def test_white_flag_order_is_the_post_order_of_a_walk(parents: dict[bytes, list[bytes]]) -> None:
    *_, milestone = parents
    walked: list[bytes] = []

    def walk(message_id: bytes) -> None:
        if message_id in parents and message_id not in walked:
            for parent in parents[message_id]:
                walk(parent)
            walked.append(message_id)

    walk(milestone)
    assert white_flag_order(milestone, parents) == walked


def test_a_cone_deeper_than_any_stack_is_walked() -> None:
    chain = {number.to_bytes(4): [(number - 1).to_bytes(4)] for number in range(1, 100_000)}
    assert white_flag_order((99_999).to_bytes(4), chain) == list(chain)


def test_a_milestone_without_its_own_message_cannot_be_ordered() -> None:
    with pytest.raises(KeyError):
        white_flag_order(b"milestone", {b"other": [b"outside"]})


def test_network_ids_are_those_in_messages() -> None:
    for name, vector in load("networks").items():
        assert ids.network_id(name) == int(vector["network_id"])


def test_networks_are_found_by_either_name() -> None:
    assert find_network("mainnet") == find_network("chrysalis-mainnet")
    assert find_network("mainnet").bech32_hrp == "iota"
    assert find_network("devnet") == Network("devnet", "chrysalis-devnet", "atoi", "devnet")
    assert ids.network_id(find_network("mainnet").id_name) == int(load("networks")["chrysalis-mainnet"]["network_id"])
    assert find_network("permatest-1") == Network("permatest-1", "permatest-1", "atoi", "permatest-1")


def test_output_ids_end_with_the_index_little_endian() -> None:
    assert ids.output_id(bytes(32), 0x0102) == bytes(32) + b"\x02\x01"
