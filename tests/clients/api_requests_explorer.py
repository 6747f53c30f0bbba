"""Requests for every operation of explorer v2, with data of the Stardust oracle ledger, and the expected bodies.

tests.api.explorer computes the bodies in plain Python. Each listing fits on one page, so its cursor is null.
"""

from datetime import UTC, datetime
from typing import Any

from ledger.crypto.bech32 import parse_address
from tests.api.explorer import Explorer
from tests.api.oracle import Json
from tests.api.stardust import StardustLedger
from tests.api.statements import of_stardust
from tests.api.token_ledger import replayed
from tests.clients.api_requests import ApiRequest, ApiRequests
from tests.reference import read_json
from tests.reference_stardust import ORACLE

PAGE_SIZE = 1000
PAGED = {"pageSize": PAGE_SIZE}

EVERY = 10
"""Requests cover each tenth block, milestone and address."""


def of_explorer(ledger: StardustLedger) -> ApiRequests:
    """The requests for a mount of the explorer."""
    explorer = Explorer(ledger)
    return {
        **of_addresses(explorer),
        **of_statements(explorer),
        **of_milestones(explorer),
        **of_pending(explorer),
        **of_tokens(explorer),
        "/blocks/{blockId}/children": [of_children(explorer, entry["id"]) for entry in ledger.entries[::EVERY]],
        "/blocks": [
            listing({"tag": tag}, {"tag": tag, "items": items}) for tag, items in explorer.tagged.items() if tag != "0x"
        ],
        # Nothing was loaded, so no load counted rejects.
        "/rejects": [listing({}, {"items": [], "total": None})],
        "/ledger/richest-addresses": [ApiRequest({"top": PAGE_SIZE}, richest(explorer))],
        "/ledger/token-distribution": [ApiRequest({}, distribution(explorer))],
    }


def listing(given: Json, answer: Json) -> ApiRequest:
    """A request with a single page as its answer."""
    return ApiRequest(given | PAGED, answer | {"cursor": None})


def of_children(explorer: Explorer, block_id: str) -> ApiRequest:
    """All children of a block."""
    found = explorer.children.get(block_id, [])
    answer = {"blockId": block_id, "maxResults": PAGE_SIZE, "count": len(found), "children": found}
    return listing({"blockId": block_id}, answer)


def of_addresses(explorer: Explorer) -> ApiRequests:
    """Balances and both histories of addresses."""
    addresses = explorer.addresses[::EVERY]
    balances = [(each, explorer.balance(each)) for each in explorer.addresses]
    return {
        "/balance/{address}": [ApiRequest({"address": each}, balance) for each, balance in balances if balance],
        "/ledger/updates/by-address/{address}": [
            listing({"address": each}, {"address": each, "items": explorer.updates_of(each)}) for each in addresses
        ],
        "/ledger/outputs/by-address/{address}": [
            listing(
                {"address": each}, {"address": each, "ledgerIndex": explorer.last, "items": explorer.outputs_of(each)}
            )
            for each in addresses
        ],
    }


def of_statements(explorer: Explorer) -> ApiRequests:
    """Statements of single addresses and of several. Their items, which contain cursors, are not foretold."""
    statements = of_stardust(explorer)
    requests = []
    for account in [*([each] for each in statements.addresses[::EVERY]), sorted(statements.addresses)[:3]]:
        answer = {
            "addresses": sorted(account, key=lambda text: parse_address(text)[1]),
            "firstMilestoneIndex": 0,
            "lastMilestoneIndex": explorer.last,
            "openingBalance": "0",
            "closingBalance": str(statements.balance(account, explorer.last)),
            "items": [],
        }
        requests.append(listing({"addresses": ",".join(account)}, answer)._replace(varying=("items",)))
    return {"/ledger/statement": requests}


def of_milestones(explorer: Explorer) -> ApiRequests:
    """Milestones, their blocks, and their changes."""
    entries = explorer.ledger.milestone_entries
    newest: list[Any] = [{"milestoneId": each["milestoneId"], "index": each["index"]} for each in entries][::-1]
    requests: ApiRequests = {
        "/milestones": [listing({}, {"items": newest}), listing({"sort": "oldest"}, {"items": newest[::-1]})]
    }
    for line in explorer.ledger.milestones[::EVERY]:
        milestone_id, index = line["milestone"]["milestoneId"], line["milestone"]["index"]
        blocks = {
            "blocks": [
                {"blockId": entry["id"], "payloadType": entry["block"].get("payload", {}).get("type")}
                for entry in line["blocks"]
            ][::-1]
        }
        for path, given, answer in (
            ("/milestones/{milestoneId}/blocks", {"milestoneId": milestone_id}, blocks),
            ("/milestones/by-index/{index}/blocks", {"index": index}, blocks),
            (
                "/ledger/updates/by-milestone/{milestoneId}",
                {"milestoneId": milestone_id},
                {"milestoneIndex": index, "items": explorer.updates_in(index)},
            ),
        ):
            requests.setdefault(path, []).append(listing(given, answer))
    return requests | {"/milestones/by-date/{date}": of_days(entries)}


def of_days(entries: list[Any]) -> list[ApiRequest]:
    """The first and last milestone of each UTC day."""
    days: dict[str, list[Json]] = {}
    for each in entries:
        shown = {key: each[key] for key in ("milestoneId", "index", "timestamp")}
        days.setdefault(datetime.fromtimestamp(each["timestamp"], UTC).date().isoformat(), []).append(shown)
    return [
        ApiRequest({"date": day}, {"date": day, "firstMilestone": found[0], "lastMilestone": found[-1]})
        for day, found in days.items()
    ]


def of_pending(explorer: Explorer) -> ApiRequests:
    """No transaction of the ledger is pending, so all lists are empty; tests/api compares full ones."""
    assert not any("transactionId" in entry for entry in explorer.ledger.pending)
    address, chains = explorer.addresses[0], explorer.ledger.expected["chains"]
    empty: Json = {"items": []}
    tag = next(tag for tag in explorer.tagged if tag != "0x")
    transaction_id = next(iter(explorer.ledger.included))
    attached = [entry for entry in explorer.ledger.entries if entry.get("transactionId") == transaction_id]
    attached.sort(key=lambda entry: (entry["metadata"]["ledgerInclusionState"] != "included", entry["id"]))
    blocks = [
        {
            "blockId": entry["id"],
            "milestoneIndex": entry["metadata"]["referencedByMilestoneIndex"],
            "ledgerInclusionState": entry["metadata"]["ledgerInclusionState"],
        }
        for entry in attached
    ]
    return {
        "/transactions/{transactionId}/blocks": [
            listing({"transactionId": transaction_id}, {"transactionId": transaction_id, "items": blocks})
        ],
        "/pending/transactions/{transactionId}": [
            listing({"transactionId": transaction_id}, {"transactionId": transaction_id} | empty)
        ],
        "/pending/outputs/by-address/{address}": [
            listing({"address": address}, {"address": address, "role": None} | empty),
            listing({"address": address, "role": "sender"}, {"address": address, "role": "sender"} | empty),
        ],
        "/pending/outputs": [listing({"tag": tag}, empty)],
        "/pending/outputs/by-chain/{chainId}": [listing({"chainId": each}, empty) for each in chains.values()],
    }


def of_tokens(explorer: Explorer) -> ApiRequests:
    """The native token of the ledger, and its NFTs."""
    found = replayed(explorer.ledger.milestones, read_json(ORACLE / "genesis.json"))
    end = {"ledgerIndex": explorer.last}
    requests: ApiRequests = {}

    def texts(item: Json) -> Json:
        """An item with bech32 addresses."""
        names = [name for name in ("address", "owner", "previousOwner") if item.get(name)]
        return item | {name: explorer.bech32[int(item[name][:2], 16), f"0x{item[name][2:]}"] for name in names}

    def add(path: str, given: Json, answer: Json, *, is_listing: bool = True) -> None:
        made = listing(given, answer | end) if is_listing else ApiRequest(given, answer | end)
        requests.setdefault(path, []).append(made)

    for token_id in found.foundries:
        token = {"tokenId": token_id}
        supply, holders = found.supply_of(token_id)[::-1], found.holders_of(token_id)
        foundry = explorer.outputs[supply[0]["outputId"]]["output"]
        own = {"aliasId": f"0x{token_id[4:68]}", "serialNumber": foundry["serialNumber"], "foundry": supply[0]}
        described = [each["data"] for each in foundry.get("immutableFeatures", ()) if each["type"] == 2]
        metadata = described[0] if described else None
        add("/native-tokens/{tokenId}", token, token | own | {"metadata": metadata}, is_listing=False)
        add("/native-tokens/{tokenId}/supply", token, token | {"items": supply})
        outputs = [texts(each) for each in found.outputs_of(token_id)[::-1]]
        add("/native-tokens/{tokenId}/outputs", token | {"spent": "any"}, token | {"items": outputs})
        transfers = [texts(each) for each in found.transfers_of(token_id)[::-1]]
        add("/native-tokens/{tokenId}/transfers", token, token | {"items": transfers})
        total = hex(sum(int(each["amount"], 16) for each in holders))
        sums = {"holderCount": len(holders), "totalAmount": total, "items": [texts(each) for each in holders]}
        add("/native-tokens/{tokenId}/holders", token, token | sums)
    for nft_id in found.nfts:
        states = [texts(each) for each in found.states_of(nft_id)[::-1]]
        add("/nfts/{nftId}/transfers", {"nftId": nft_id}, {"nftId": nft_id, "items": states})
        output = explorer.outputs[states[0]["outputId"]]["output"]
        features = {each["type"]: each for each in output.get("immutableFeatures", ())}
        answer = {
            "nftId": nft_id,
            "issuer": explorer.text(features[1]["address"]) if 1 in features else None,
            "metadata": features[2]["data"] if 2 in features else None,
            "owner": None if states[0]["isSpent"] else states[0]["owner"],
            "isBurned": states[0]["isSpent"],
            "state": states[0],
        }
        add("/nfts/{nftId}", {"nftId": nft_id}, answer, is_listing=False)
    return requests


def richest(explorer: Explorer) -> Json:
    """The richest addresses, all of them."""
    hexes = {each["bech32"]: (each["type"], each["hex"]) for each in explorer.ledger.expected["addresses"]}
    ranked = sorted(explorer.owned().items(), key=lambda item: (-item[1], hexes[item[0]]))
    return {"top": [{"address": who, "balance": str(much)} for who, much in ranked], "ledgerIndex": explorer.last}


def distribution(explorer: Explorer) -> Json:
    """The number of addresses by balance, in powers of ten."""
    buckets: dict[int, list[int]] = {}
    for balance in explorer.owned().values():
        buckets.setdefault(len(str(balance)) - 1, []).append(balance)
    return {
        "distribution": [
            {
                "range": {"start": 10**power, "end": 10 ** (power + 1)},
                "addressCount": str(len(buckets[power])),
                "totalBalance": str(sum(buckets[power])),
            }
            for power in sorted(buckets)
        ],
        "ledgerIndex": explorer.last,
    }
