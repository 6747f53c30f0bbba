"""The operations that have `proof=complete`, and pages of their listings."""

from dataclasses import dataclass
from typing import Any

from ledger.crypto.bech32 import format_address
from tests.api.oracle import Json
from tests.api.proved import Proved


@dataclass(frozen=True)
class Route:
    """How one operation shows a listing.

    Attributes:
        path: path below the network's mount, with the key.
        families: the families that the listing merges.
        items: name of the list in the response.
        item: name of an item's id; empty if the item is the id.
        id_bytes: where a row id has that id.
        size: name of the parameter with the page size; the cursor's parameter follows from it.
        key: how the path has the key.
        query: parameters that make the listing whole.
        is_v1: the response has an envelope.
    """

    path: str
    families: tuple[str, ...]
    items: str
    item: str = ""
    id_bytes: tuple[int, int] = (4, 36)
    size: str = "pageSize"
    key: str = "hex"
    query: tuple[tuple[str, str], ...] = ()
    is_v1: bool = False

    @property
    def cursor(self) -> str:
        return "state" if self.is_v1 else "cursor"

    @property
    def documents(self) -> str:
        return "proofs" if "outputs" in self.path or self.path.startswith("foundries") else "proof"

    def spelled(self, key: bytes, hrp: str) -> str:
        match self.key:
            case "bech32":
                return format_address(hrp, key)
            case "ed25519":
                return key[1:].hex()
            case "0x":
                return f"0x{key.hex()}"
        return key.hex()


OWNED = ("legacy_outputs_by_address",)
OWNED_IN_STARDUST = (
    "basic_outputs_by_address", "foundry_outputs_by_address", "nft_outputs_by_address",
    "alias_outputs_by_state_controller",
)  # fmt: skip
OUTPUT, CHANGE, ATTACHMENT, STATE = (4, 38), (4, 38), (36, 68), (8, 42)
ANY, SPENT = (("spent", "any"),), (("include-spent", "true"),)


def v1(path: str, family: tuple[str, ...], items: str, **more: Any) -> Route:
    return Route(path, family, items, size=more.pop("size", "page_size"), is_v1=True, **more)


def indexed(path: str, *families: str, **more: Any) -> Route:
    return Route(f"indexer/v1/outputs{path}", families, "items", id_bytes=OUTPUT, query=ANY, **more)


BOTH_ERAS = (
    v1("messages?index={key}", ("messages_by_tag",), "messageIds"),
    v1("messages/{key}/children", ("messages_by_parent",), "childrenMessageIds"),
    v1("addresses/{key}/tx-history", ("transactions_by_address",), "history", item="messageId", id_bytes=ATTACHMENT,
       size="pageSize", key="bech32"),
    v1("addresses/ed25519/{key}/tx-history", ("transactions_by_address",), "history", item="messageId",
       id_bytes=ATTACHMENT, size="pageSize", key="ed25519"),
    v1("transactions/ed25519/{key}", ("transactions_by_address",), "transactions", item="messageId",
       id_bytes=ATTACHMENT, key="ed25519"),
    Route("explorer/v2/blocks?tag={key}", ("messages_by_tag",), "items", "blockId", key="0x"),
    Route("explorer/v2/blocks/{key}/children", ("messages_by_parent",), "children"),
    Route("explorer/v2/ledger/updates/by-address/{key}", ("ledger_updates_by_address",), "items", "outputId", CHANGE,
          key="bech32"),
)  # fmt: skip
CHRYSALIS = (
    v1("addresses/{key}/outputs", OWNED, "outputIds", id_bytes=OUTPUT, key="bech32", query=SPENT),
    v1("addresses/ed25519/{key}/outputs", OWNED, "outputIds", id_bytes=OUTPUT, key="ed25519", query=SPENT),
)
STARDUST = (
    v1("addresses/{key}/outputs", OWNED_IN_STARDUST, "outputIds", id_bytes=OUTPUT, key="bech32", query=SPENT),
    Route("explorer/v2/ledger/outputs/by-address/{key}", ("basic_outputs_by_sender", "alias_outputs_by_sender",
          "nft_outputs_by_sender"), "items", "outputId", OUTPUT, key="bech32", query=(("role", "sender"),)),
    Route("explorer/v2/nfts/{key}/transfers", ("nft_outputs_by_chain",), "items", "outputId", STATE),
    Route("explorer/v2/native-tokens/{key}/supply", ("foundry_outputs_by_chain",), "items", "outputId", STATE),
    indexed("/basic?address={key}", "basic_outputs_by_address", "legacy_outputs_by_address", key="bech32"),
    indexed("/basic?tag={key}", "basic_outputs_by_tag"),
    indexed("/nft?issuer={key}", "nft_outputs_by_issuer", key="bech32"),
    indexed("/alias?governor={key}", "alias_outputs_by_governor", key="bech32"),
    indexed("/foundry?aliasAddress={key}", "foundry_outputs_by_address", key="bech32"),
    indexed("/alias?unlockableByAddress={key}", "alias_outputs_by_state_controller", "alias_outputs_by_governor",
            key="bech32"),
    Route("indexer/v1/outputs/alias/{key}", ("alias_outputs_by_chain",), "items", "", STATE, query=ANY),
    Route("indexer/v1/outputs/foundry/{key}", ("foundry_outputs_by_chain",), "items", "", STATE, query=ANY),
    Route("indexer/v1/outputs/nft/{key}", ("nft_outputs_by_chain",), "items", "", STATE, query=ANY),
)  # fmt: skip
SEEDS = (
    Route("outputs?sender={key}", ("basic_outputs_by_sender",), "items", "", OUTPUT, key="bech32", query=ANY),
    Route("foundries?address={key}", ("foundry_outputs_by_address",), "items", "", OUTPUT, key="bech32", query=ANY),
)


async def pages(proved: Proved, route: Route, key: bytes, page_size: int, order: str, most: int = 1_000) -> list[Json]:
    """All pages of a listing, with proofs, or the first ones."""
    path, _, own = route.path.format(key=route.spelled(key, proved.hrp)).partition("?")
    query = dict([*route.query, *(pair.split("=") for pair in own.split("&") if pair)])
    query |= {"proof": "complete", "sort": order, route.size: str(page_size)}
    found: list[Json] = []
    while not found or (len(found) < most and found[-1].get(route.cursor)):
        position = {route.cursor: found[-1][route.cursor]} if found else {}
        response = await proved.get(path, query | position)
        assert response.status_code == 200, response.text
        found.append(response.json()["data"] if route.is_v1 else response.json())
    return found
