"""The list of tokens whose value counts, compared with the published list."""

import json
from datetime import date

from ledger.wormhole.addresses import parse_token
from ledger.wormhole.allowlist import COINGECKO_IDS, INACTIVE, allowed_tokens
from tests.conftest import needs_shared
from tests.ledger.wormhole.cases import WORMHOLE


@needs_shared
def test_every_token_of_the_published_list_is_there_under_its_key() -> None:
    published = json.loads((WORMHOLE / "token_allowlist.json").read_text())["allowlist"]
    by_key = {
        f"{chain}/{parse_token(int(chain), address).hex()}": coin
        for chain, tokens in published.items()
        for address, coin in tokens.items()
    }
    assert by_key == COINGECKO_IDS


@needs_shared
def test_a_token_that_has_a_price_elsewhere_has_the_same_address_there() -> None:
    """The governor's tokens as 32 bytes, from another source."""
    tokens = json.loads((WORMHOLE / "tokens_prices.json").read_text())["tokens"]
    keys = {f"{each['chain']}/{each['address']}": each["coingecko_id"] for each in tokens}
    both = keys.keys() & COINGECKO_IDS.keys()
    assert len(both) > 60
    assert [key for key in both if key.startswith("15/")]
    # Assets of Algorand: the published list has numbers, the governor's their bytes.
    assert {COINGECKO_IDS[key] for key in both if key.startswith("8/")} == {"usd-coin", "tether"}


def test_a_token_counts_until_it_was_taken_off_and_other_networks_have_no_list() -> None:
    ((token, until),) = INACTIVE.items()
    assert until == date(2022, 6, 15).toordinal() - date(1970, 1, 1).toordinal()
    before, after = allowed_tokens("mainnet", until - 1), allowed_tokens("mainnet", until)
    assert before is not None
    assert after is not None
    assert before == COINGECKO_IDS.keys()
    assert before - after == {token}
    assert allowed_tokens("testnet", until) is None
