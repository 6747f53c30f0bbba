"""An address of an IOTA network: its balance now and at a milestone, the balance over time, and its listings as tabs.

An address in hex leads to the same page: 33 bytes as serialized, or 32 bytes of an Ed25519 address.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

import segno

from api.fields.inx_chronicle_params import ROLES
from api.network import NetworkMount
from api.web.chains import chain_id_of
from api.web.formats import plain
from api.web.listing_proofs import ListingProof, proof_of
from api.web.page import Answer, Download, Page, Redirect, View
from api.web.visit import Visit, segment
from db.roles import roles_of
from db.schema.protocols import IOTA
from db.store import LedgerUnknown
from db.together import together
from ledger.crypto.bech32 import AddressError, parse_address

ROWS = 25
"""Rows of a tab before `More`."""

POINTS = 500
"""The newest changes of the balance that its chart has."""

QUIET_ZONE = 4
"""Modules of a QR code's margin, by its standard."""

Values: TypeAlias = Mapping[str, Any]

ZERO: Values = {"totalBalance": "0", "availableBalance": "0", "nativeTokens": []}
"""The balance of an address that no unspent output names."""

LETTERS = re.compile(r"[0-9a-zA-Z]{1,90}", re.ASCII)
"""The form of any Bech32 address."""

CHAINS = {0x08: "alias", 0x10: "nft"}
"""First byte of a serialized address → kind of the object that it belongs to."""

_HEX = re.compile(r"(?:0x)?((?:00|08|10)?[0-9a-f]{64})", re.IGNORECASE | re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


async def address(visit: Visit) -> Answer:
    """The address, with the tab that `tab` names."""
    found = _HEX.fullmatch(visit.params["address"])
    if found is not None:
        whole = visit.mount.bech32(found[1].lower().rjust(66, "0"))
    else:
        # Bech32 is written in lower case or in upper case.
        whole = visit.params["address"].lower()
    if whole != visit.params["address"]:
        return Redirect(visit.elsewhere(f"/{visit.network}/address/{segment(whole)}"))
    tab = visit.query.get("tab", "history")
    tab = tab if tab in TABS else "history"
    is_first = "cursor" not in visit.query
    at = await milestone_of(visit, visit.query.get("at", ""))
    balance, then, changes, rows = await together(
        balance_at(visit, whole, None),
        balance_at(visit, whole, at) if at is not None else nothing(),
        visit.kept(f"analytics/v2/addresses/{segment(whole)}", pageSize=POINTS) if is_first else nothing(),
        TABS[tab](visit, whole),
    )
    if balance is None and "tab" not in visit.query:
        return Redirect(visit.here(tab="outputs"))
    history = [] if changes is None else changes["items"][::-1]
    values = {
        "address": whole,
        "chain": chain_of(visit.mount, whole),
        "balance": balance,
        "at": at,
        "then": then,
        "changes": history,
        "chart": balance_chart(visit, history),
        "is_cut": changes is not None and changes["cursor"] is not None,
        "csv": visit.api(f"analytics/v2/addresses/{segment(whole)}", format="csv"),
        "has_ledger": balance is not None,
        "tab": tab,
        "tabs": TABS,
        "list": rows,
        "listing_proof": rows.get("proof"),
    }
    return Page("address", "Address", values, charts=bool(history), proves_listing=bool(values["listing_proof"]))


def chain_of(network: NetworkMount, whole: str) -> tuple[str, str] | None:
    """Kind and id of the alias or NFT whose address this is; None if it is another address."""
    try:
        hrp, serialized = parse_address(whole)
    except AddressError:
        return None
    kind = CHAINS.get(serialized[0])
    return None if kind is None or hrp != network.bech32_hrp else (kind, f"0x{serialized[1:].hex()}")


async def nothing() -> None:
    """Takes the place of a request that a page does not need."""


async def milestone_of(visit: Visit, text: str) -> int | str | None:
    """The milestone that a form names: an index, or the last one of a date; None without a text. Raises NotFound for a
    date without any. What is neither is for the API to reject.
    """
    if _DATE.fullmatch(text):
        day = await visit.json(f"explorer/v2/milestones/by-date/{text}")
        return int(day["lastMilestone"]["index"])
    return text or None


async def balance_at(visit: Visit, whole: str, at: int | str | None) -> Values | None:
    """The balance at a milestone, by default now. None if the archive has no ledger state.

    Raises NotFound for a milestone without a ledger state here.
    """
    path = f"addresses/{segment(whole)}"
    try:
        found: Values | None = await visit.find(f"explorer/v2/balance/{segment(whole)}", ledgerIndex=at)
        # An address that no unspent output names has the balance 0 here. This operation checks the milestone.
        return found or {**ZERO, "ledgerIndex": (await visit.json(path, ledgerIndex=at))["data"]["ledgerIndex"]}
    except LedgerUnknown:
        return None


def balance_chart(visit: Visit, history: list[Values]) -> Values:
    """The balance after each change as a series, in whole units of the base token."""
    decimals = visit.mount.base_token.decimals
    return {
        "times": [each["timestamp"] for each in history],
        "series": {"Balance": [plain(each["balance"], decimals) for each in history]},
    }


def listed(visit: Visit, found: Values | None, csv: str | None = None, proof: ListingProof | None = None) -> Values:
    """A page of a listing as the template shows it. `found`: None if the archive has no ledger state."""
    cursor = None if found is None else found["cursor"]
    return {
        "items": None if found is None else found["items"],
        "next": visit.here(cursor=cursor) if cursor else None,
        "csv": csv,
        "proof": proof,
    }


def serialized(visit: Visit, whole: str) -> str:
    """The address as hex. Raises BadParameter if it belongs to another network."""
    return visit.mount.address(parse_address(whole))


def chosen(visit: Visit, *names: str) -> dict[str, str]:
    """The parameters of the query with these names that have a value."""
    return {name: visit.query[name] for name in names if visit.query.get(name)}


async def history_tab(visit: Visit, whole: str) -> Values:
    """Outputs that the address received, and those of them that were spent."""
    path = f"explorer/v2/ledger/updates/by-address/{segment(whole)}"
    span = chosen(visit, "start", "end", "sort")
    query = {**span, **chosen(visit, "cursor"), "pageSize": ROWS}
    found = await visit.kept(path, **query)
    proof = None
    if found is not None:
        families, is_last = ["ledger_updates_by_address"], not found["cursor"]
        proof = await proof_of(visit, families, serialized(visit, whole), path, is_last=is_last, **query)
    return listed(visit, found, visit.api(path, **span, format="csv"), proof)


async def outputs_tab(visit: Visit, whole: str) -> Values:
    """Every output that ever named the address. Proofs are about one role."""
    path = f"explorer/v2/ledger/outputs/by-address/{segment(whole)}"
    span = chosen(visit, "start", "end", "sort", "role")
    query = {**span, **chosen(visit, "cursor"), "pageSize": ROWS}
    found = await visit.json(path, **query)
    proof = None
    if "role" in span:
        families, is_last = families_of(span["role"]), not found["cursor"]
        proof = await proof_of(visit, families, serialized(visit, whole), path, is_last=is_last, **query)
    return listed(visit, found, visit.api(path, **span, format="csv"), proof)


def families_of(role: str) -> list[str]:
    """The families of proofs of the outputs in which an address has a role."""
    return [f"{each.output_kind}_outputs_by_{each.variant}" for each in roles_of(ROLES[role])]


async def statement_tab(visit: Visit, whole: str) -> Values:
    """What changed the balance, with the balance after each change."""
    span = chosen(visit, "start", "end")
    order = {"sort": "newest", **chosen(visit, "sort")}
    path = "explorer/v2/ledger/statement"
    found = await visit.kept(path, addresses=whole, **span, **order, **chosen(visit, "cursor"), pageSize=ROWS)
    return {**(found or {}), **listed(visit, found, visit.api(path, addresses=whole, **span, **order, format="csv"))}


async def tokens_tab(visit: Visit, whole: str) -> Values:
    """Native tokens of the balance now."""
    balance = await balance_at(visit, whole, None)
    return listed(visit, balance and {"items": balance["nativeTokens"], "cursor": None})


async def nfts_tab(visit: Visit, whole: str) -> Values:
    """NFTs that the address owns now."""
    found = await visit.kept(
        "indexer/v1/outputs/nft", address=whole, sort="newest", pageSize=ROWS, **chosen(visit, "cursor")
    )
    if found is None:
        return listed(visit, None)
    outputs = await together(*(visit.json(f"core/v2/outputs/{each}") for each in found["items"]))
    items = [
        {
            "outputId": output_id,
            "nftId": chain_id_of(output_id, each["output"]["nftId"]),
            "amount": each["output"]["amount"],
            "milestoneIndex": each["metadata"]["milestoneIndexBooked"],
        }
        for output_id, each in zip(found["items"], outputs, strict=True)
    ]
    return listed(visit, {"items": items, "cursor": found.get("cursor")})


Tab: TypeAlias = Callable[[Visit, str], Coroutine[Any, Any, Values]]

TABS: Mapping[str, Tab] = {
    "history": history_tab,
    "outputs": outputs_tab,
    "statement": statement_tab,
    "tokens": tokens_tab,
    "nfts": nfts_tab,
}
"""Value of `tab` → what it shows."""


async def qr_code(visit: Visit) -> Answer:
    """The address as a QR code: an SVG image."""
    whole = visit.params["address"]
    if not LETTERS.fullmatch(whole):
        return Redirect(f"/{visit.network}/address/{segment(whole)}")
    code = segno.make(whole, error="m", micro=False)
    size = len(code.matrix) + 2 * QUIET_ZONE
    path = "".join(
        f"M{column + QUIET_ZONE} {row + QUIET_ZONE}h1v1h-1z"
        for row, line in enumerate(code.matrix)
        for column, is_dark in enumerate(line)
        if is_dark
    )
    image = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" shape-rendering="crispEdges">'
        f'<path fill="#fff" d="M0 0h{size}v{size}H0z"/><path d="{path}"/></svg>'
    )
    return Download(f"{whole}.svg", "image/svg+xml", image.encode())


VIEWS = (
    View("/{network}/address/{address}", address, IOTA),
    View("/{network}/address/{address}/qr.svg", qr_code, IOTA),
)
