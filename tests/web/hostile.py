"""A ledger with hostile contents: scripts, right-to-left text, long texts, very large amounts.

It is the network of both eras with one more milestone, whose blocks have tags, data and metadata that attack a page.
"""

import json
from pathlib import Path

from db.connect import StoreSettings
from ledger import ids
from ledger.stardust import codec as stardust
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    BasicOutput,
    FoundryOutput,
    Governor,
    ImmutableAlias,
    Issuer,
    Metadata,
    NativeToken,
    NftOutput,
    SimpleTokenScheme,
    StateController,
    Tag,
    TaggedData,
    Transaction,
)
from tests.api.conftest import filled_with
from tests.api.networks import two_eras_rows
from tests.api.oracle import Json, Oracle
from tests.etl.two_eras import carried, line_behind, stardust_lines, transaction, wallets

NETWORK = "hostile"

SCRIPT = "\"'></title></textarea></script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>{{7*7}}"
RIGHT_TO_LEFT = "\u202egnp.exe\u202c مرحبا \u2067שלום\u2069"
OTHER_HOST = "http://127.0.0.2:9/x.png"
WORD = "W" * 30_000

TAGS = (
    b'"><script>window.hacked=1</script>',
    b"<svg/onload=window.hacked=1>",
    RIGHT_TO_LEFT.encode(),
    b"\0\1\2\xff\xfe",
    b"W" * 64,
    b"../../../api?x=<b>&y='\"#%00",
)
DATA = (SCRIPT.encode(), RIGHT_TO_LEFT.encode(), WORD.encode(), b"\0" * 2_000, json.dumps({"a": SCRIPT}).encode())

NFT_METADATA = {
    "standard": "IRC27",
    "version": "v1.0",
    "type": "image/svg+xml",
    "uri": OTHER_HOST,
    "name": SCRIPT,
    "issuerName": RIGHT_TO_LEFT,
    "collectionName": "W" * 500,
    "description": f"[x](javascript:window.hacked=1) ![]({OTHER_HOST}) {SCRIPT}",
    "royalties": {SCRIPT: 0.1},
    "attributes": [{"trait_type": SCRIPT, "value": RIGHT_TO_LEFT}, {"trait_type": "amount", "value": 10**400}],
}
TOKEN_METADATA = {
    "standard": "IRC30",
    "name": SCRIPT,
    "symbol": RIGHT_TO_LEFT,
    "decimals": 10**9,
    "description": "W" * 2_000,
    "url": "javascript:window.hacked=1",
    "logoUrl": OTHER_HOST,
    "logo": f"<svg onload=window.hacked=1>{SCRIPT}</svg>",
}

LARGE = 2**62
"""Of base tokens: the sum of all must fit into the signed 64 bits of a store."""

LARGEST_TOKENS = 2**256 - 1


def hostile_transaction() -> Transaction:
    """Outputs of every kind with hostile metadata, for the first wallet."""
    coin = carried(4)[3]
    owner = next(iter(wallets().values())).address
    held = (AddressCondition(owner),)
    alias = b"\x08" + b"\xaa" * 32
    foundry = alias + (1).to_bytes(4, "little") + b"\0"
    metadata = Metadata(json.dumps(NFT_METADATA).encode())
    return transaction(
        [coin],
        [
            BasicOutput(
                LARGE, (NativeToken(foundry, LARGEST_TOKENS),), held, (Metadata(SCRIPT.encode()), Tag(TAGS[0]))
            ),
            AliasOutput(
                1_000_000, (), alias[1:], 7, SCRIPT.encode(), 1, (StateController(owner), Governor(owner)),
                (Metadata(RIGHT_TO_LEFT.encode()),), (Issuer(owner), metadata),
            ),
            FoundryOutput(
                1_000_000, (), 1, SimpleTokenScheme(LARGEST_TOKENS, 0, LARGEST_TOKENS), (ImmutableAlias(alias),), (),
                (Metadata(json.dumps(TOKEN_METADATA).encode()),),
            ),
            NftOutput(1_000_000, (), b"\xbb" * 32, held, (Metadata(WORD[:8_000].encode()), Tag(TAGS[1])), (metadata,)),
        ],
    )  # fmt: skip


def hostile_line() -> Json:
    """The milestone with all hostile blocks."""
    tagged = [TaggedData(TAGS[number % len(TAGS)], data) for number, data in enumerate((*DATA, *TAGS))]
    return line_behind(stardust_lines()[-1], [(hostile_transaction(), None), *((each, None) for each in tagged)])


def fill_hostile(folder: Path, oracle: Oracle, config: Path) -> None:
    """Adds the network to a configuration of tests.api.networks, with a SQLite store in `folder`."""
    settings = StoreSettings(f"sqlite:///{folder}/{NETWORK}", NETWORK)
    filled_with(settings, two_eras_rows(oracle, settings, [*stardust_lines(), hostile_line()])).close()
    with config.open("a", encoding="utf-8") as file:
        file.write(f'\n[networks.{NETWORK}]\nurl = "{settings.url}"\nbech32_hrp = "atoi"\nstardust_from = 51\n')


def paths() -> list[str]:
    """Pages below the network that show the hostile contents. The last one is the address of the owner."""
    line = hostile_line()
    payload = hostile_transaction()
    transaction_id = ids.transaction_id(stardust.encode_payload(payload))
    outputs = [ids.output_id(transaction_id, index).hex() for index in range(len(payload.essence.outputs))]
    owner = next(iter(wallets().values())).address
    return [
        "",
        f"/milestone/{line['milestone']['index']}",
        *(f"/block/{each['id']}" for each in line["blocks"]),
        f"/transaction/0x{transaction_id.hex()}",
        *(f"/output/0x{each}" for each in outputs),
        f"/alias/0x{'aa' * 32}",
        f"/foundry/0x08{'aa' * 32}0100000000",
        f"/nft/0x{'bb' * 32}",
        *(f"/tag/{each.hex()}" for each in TAGS),
        *(f"/address/{owner.hex()}{tab}" for tab in ("", "?tab=outputs", "?tab=tokens", "?tab=nfts")),
    ]
