"""Addresses in each chain's spelling, compared with published ones, and the hashes that some of them need."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.crypto import bech32
from ledger.crypto.hashes import keccak256, sha512_256
from ledger.wormhole.addresses import (
    NativeAddressError,
    format_address,
    format_checksummed,
    format_emitter,
    format_token,
    parse_address,
    parse_emitter,
    parse_token,
)
from ledger.wormhole.chains import find_chain, find_chain_named
from ledger.wormhole.emitters import EMITTERS
from tests.conftest import needs_shared
from tests.ledger.wormhole.cases import WORMHOLE, addresses, public_sets

BRIDGES = {chain: bytes.fromhex(address.zfill(64)) for chain, address in EMITTERS["mainnet"]["token_bridge"]}


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (b"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
    ],
)
def test_keccak_is_not_sha3(data: bytes, digest: str) -> None:
    assert keccak256(data).hex() == digest


def test_sha512_256_is_that_of_fips_180_4() -> None:
    assert sha512_256(b"abc").hex() == "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"


@pytest.mark.parametrize(
    ("chain", "native"),
    [
        (1, "Gv1KWf8DT1jKv5pKBmGaTmVszqa56Xn8YGx2Pg7i7qAk"),
        (2, "0x3ee18b2214aff97000d974cf647e7c347e8fa585"),
        (3, "terra10nmmwe8r3g99a9newtqa7a75xfgs2e8z87r2sf"),
        (15, "contract.portalbridge.near"),
        (18, "terra153366q50k7t8nn7gec00hg66crnhkdggpgdtaxltaq6xrutkkz3s992fw9"),
        (19, "inj1ghd753shjuwexxywmgs4xz7x2q732vcnxxynfn"),
        (21, "0xc57508ee0d4595e5a8728974a4a93a787d38f339757230d441e895422c07aba9"),
        (22, "0x576410486a2da45eee6c949c995670112ddf2fbeedab20350d506328eefc9d4f"),
        (28, "xpla137w0wfch2dfmz7jl2ap8pcmswasj8kg06ay4dtjzw7tzkn77ufxqfw7acv"),
        (32, "sei1smzlm9t79kur392nu9egl8p8je9j92q4gzguewj56a05kyxxra0qy0nuf3"),
        (3104, "wormhole1466nf3zuxpya8q9emxukd7vftaf6h4psr0a07srl5zw74zh84yjq4lyjmh"),
    ],
)
def test_the_token_bridges_are_known_by_these_addresses(chain: int, native: str) -> None:
    assert format_emitter("mainnet", chain, BRIDGES[chain]) == native
    assert parse_emitter("mainnet", chain, native) == BRIDGES[chain]
    assert parse_emitter("mainnet", chain, BRIDGES[chain].hex()) == BRIDGES[chain]
    if chain not in (15, 21, 22):
        assert parse_address(chain, native) == BRIDGES[chain]


def test_another_network_has_other_accounts_behind_the_same_numbers() -> None:
    assert format_emitter("testnet", 22, BRIDGES[22]) == "0x" + "1".zfill(64)
    account = format_emitter("mainnet", 22, BRIDGES[22])
    assert parse_emitter("testnet", 22, account).hex() == account.removeprefix("0x")


@needs_shared
def test_tokens_of_the_allowlist_are_written_as_it_has_them() -> None:
    """Two public lists of the same tokens, one in Wormhole's form and one in each chain's, joined by CoinGecko's id."""
    tokens: dict[tuple[int, str], set[str]] = {}
    for token in json.loads((WORMHOLE / "tokens_prices.json").read_text())["tokens"]:
        native = format_token(token["chain"], bytes.fromhex(token["address"]))
        tokens.setdefault((token["chain"], token["coingecko_id"]), set()).add(native)
    listed = {
        (int(chain), coin, native)
        for chain, natives in json.loads((WORMHOLE / "token_allowlist.json").read_text())["allowlist"].items()
        for native, coin in natives.items()
        if (int(chain), coin) in tokens
    }
    other = {(chain, coin, native) for chain, coin, native in listed if native not in tokens[chain, coin]}
    # USDC has two contracts on Polygon and on Avalanche, and the lists contain different ones.
    assert {(chain, coin) for chain, coin, _ in other} == {(5, "usd-coin"), (6, "usd-coin")}
    assert len(listed - other) == 72
    assert {chain for chain, _, _ in listed - other} == {1, 2, 4, 6, 8, 13, 14, 15, 22}


@pytest.mark.parametrize(
    ("chain", "address", "native"),
    [
        (3, "0100000000000000000000000000000000000000000000000000000075757364", "uusd"),
        (18, "01fa6c6fbc36d8c245b0a852a43eb5d644e8b4c477b27bfab9537c10945939da", "uluna"),
        (8, "1f".zfill(64), "31"),
        (15, "00" * 32, "near"),
        (21, "ab" * 32, "ab" * 32),
        (29, "ab" * 32, "ab" * 32),
        (27, "ab" * 32, "ab" * 32),
        (2, "ab" * 32, "ab" * 32),
    ],
)
def test_tokens_have_names_numbers_or_addresses(chain: int, address: str, native: str) -> None:
    assert format_token(chain, bytes.fromhex(address)) == native
    assert parse_token(chain, native).hex() == address
    assert parse_token(chain, f"0x{address}").hex() == address


def test_the_zero_addresses_of_algorand_and_solana() -> None:
    algorand = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ"
    for chain, text in [(8, algorand), (1, "1" * 32)]:
        assert format_address(chain, bytes(32)) == text
        assert parse_address(chain, text) == bytes(32)


CHAINS = st.sampled_from([1, 2, 3, 8, 15, 18, 19, 21, 22, 26, 27, 30, 32, 61, 3104, 4000, 65_535])
ADDRESSES = st.binary(min_size=32, max_size=32) | st.binary(min_size=20, max_size=20).map(bytes(12).__add__)


@given(CHAINS, ADDRESSES)
def test_any_token_comes_back_from_its_chains_form(chain: int, address: bytes) -> None:
    if chain == 8:
        address = address[-26:].rjust(32, b"\0")  # asset numbers have 8 bytes
    assert parse_token(chain, format_token(chain, address)) == address


@given(CHAINS, ADDRESSES)
def test_any_address_comes_back_from_its_chains_form_and_from_hex(chain: int, address: bytes) -> None:
    assert parse_address(chain, format_address(chain, address)) == address
    assert parse_address(chain, address.hex()) == address
    assert parse_address(chain, f"0x{address.hex().upper()}") == address


@pytest.mark.parametrize(
    ("chain", "text", "wrong"),
    [
        (1, "0" * 65, "expected an address as chain 1 has them"),
        (1, "Gv1KWf8DT1jKv5pKBmGaTmVszqa56Xn8YGx2Pg7i7", "expected an address as chain 1 has them"),
        (2, "", "expected an address as chain 2 has them (evm), or up to 64 hex digits"),
        (2, "0xzz", "up to 64 hex digits"),
        (3, "inj1ghd753shjuwexxywmgs4xz7x2q732vcnxxynfn", "expected the prefix terra, found inj"),
        (3, "terra10nmmwe8r3g99a9newtqa7a75xfgs2e8z87r2sg", "checksum"),
        (3, "terra", "found no 1"),
        (8, "A" * 57 + "Q", "the checksum does not match"),
        (8, "AAAAQ", "expected 58 characters, found 5"),
        (8, "!" * 58, "base32"),
    ],
)
def test_what_is_wrong_with_a_text_is_reported(chain: int, text: str, wrong: str) -> None:
    with pytest.raises(NativeAddressError) as rejected:
        parse_address(chain, text)
    assert wrong in str(rejected.value)


@given(CHAINS, st.text(max_size=70))
def test_no_text_causes_any_other_error(chain: int, text: str) -> None:
    try:
        address = parse_address(chain, text)
    except NativeAddressError:
        return
    assert len(address) == 32


@pytest.mark.parametrize(
    "text",
    [
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0xde709f2102306220921060314715629080e2fb77",
    ],
)
def test_checksums_are_those_of_eip_55(text: str) -> None:
    assert format_checksummed(bytes.fromhex(text[2:])) == text


def test_guardians_are_called_by_their_checksummed_addresses() -> None:
    sets = [entry for network in ("mainnet", "testnet", "devnet") for entry in public_sets(network).values()]
    assert len(sets) == 11
    for entry in sets:
        assert [format_checksummed(address) for address in addresses(entry)] == entry["addresses"]


@needs_shared
def test_chains_are_numbered_and_named_as_in_public() -> None:
    public = json.loads((WORMHOLE / "chains.json").read_text())["chains"]
    assert len(public) == 94
    for each in public:
        name = each["name"].removesuffix("(obsolete)")
        assert find_chain(each["id"]).name == name
        assert find_chain_named(name) == find_chain(each["id"])


def test_a_number_that_is_nobodys_says_so() -> None:
    assert (find_chain(27).name, find_chain(27).form) == ("unknown chain ID: 27", "hex")
    assert find_chain_named("unknown chain ID: 27") is None


@pytest.mark.parametrize(
    ("text", "hrp", "data"),
    [
        ("a12uel5l", "a", ""),
        ("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", "abcdef", "00443214c74254b635cf84653a56d7c675be77df"),
        (
            "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
            "split",
            "c5f38b70305f519bf66d85fb6cf03058f3dde463ecd7918f2dc743918f2d",
        ),
    ],
)
def test_bech32_of_any_length_is_that_of_bip_173(text: str, hrp: str, data: str) -> None:
    assert bech32.encode(hrp, bytes.fromhex(data)) == text
    assert bech32.decode(text) == (hrp, bytes.fromhex(data))


@given(st.binary(max_size=40), st.sampled_from(["terra", "inj", "a"]))
def test_bech32_of_any_bytes_comes_back(data: bytes, hrp: str) -> None:
    text: Any = bech32.encode(hrp, data)
    assert bech32.decode(text) == (hrp, data)
    assert bech32.decode(text, len(data)) == (hrp, data)
    with pytest.raises(bech32.AddressError, match=r"characters after the 1|zero as the bit"):
        bech32.decode(text, len(data) + 1)
