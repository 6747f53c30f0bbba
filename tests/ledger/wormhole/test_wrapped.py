"""Addresses of wrapped tokens on Solana, compared with the mints that Solana's token lists publish."""

import base58
import pytest

from ledger.wormhole.wrapped import find_wrapped

MINTS = {
    "a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": "A9mUU4qviSctJVPJdBJWkb28deg915LYJKrzQ19ji3FM",
    "c02aaa39b223fe8d0a0e5c4f27ead9083c756cc2": "7vfCXTUXx5WJV5JADk17DUJ4ksgau7utNKj4b963voxs",
    "dac17f958d2ee523a2206206994597c13d831ec7": "Dn4noZ5jgGfkntzcQSUZ8czkreiZ1ForXYoV2H8Dm7S1",
    "2260fac5e5542a773aa44fbcfedf7c193bc2c599": "3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh",
}
"""USDC, WETH, USDT and WBTC of Ethereum → USDCet, WETH, USDTet and WBTC of Solana."""


@pytest.mark.parametrize("token", MINTS)
def test_a_wrapped_token_has_its_published_mint(token: str) -> None:
    address = find_wrapped("mainnet", 1, 2, bytes.fromhex(token.zfill(64)))
    assert address is not None
    assert base58.b58encode(address).decode() == MINTS[token]


def test_other_networks_have_other_mints_and_other_chains_none() -> None:
    token = bytes.fromhex("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48".zfill(64))
    assert len({find_wrapped(network, 1, 2, token) for network in ("mainnet", "testnet", "devnet")}) == 3
    assert find_wrapped("mainnet", 4, 2, token) is None
    assert find_wrapped("nowhere", 1, 2, token) is None
