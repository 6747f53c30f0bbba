"""The analytics tables, computed from the facts of an oracle ledger with simple, slow code.

It uses nothing of ledger/ or etl/. reference_ledger.py replays the ledger and knows nothing of analytics. Bytes of
Stardust outputs are read at the offsets of TIP-18 from the outputs in the facts.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from tests.reference_facts import Genesis, Message, Milestone, Output
from tests.reference_ledger import Replay, changes, owner_at, transaction_of
from tests.reference_rows import Rows, u16

KINDS = ("legacy", "basic", "alias", "foundry", "nft")
PAYLOADS = {0: "transaction", 6: "transaction", 1: "milestone", 7: "milestone", 2: "tagged_data", 5: "tagged_data"}
BUCKETS = {range(8, 16): "small", range(16, 32): "medium", range(32, 64): "large", range(64, 129): "huge"}
CHAIN_KINDS = ("alias", "foundry", "nft")
CALENDAR: dict[str, Callable[[datetime], Any]] = {
    "day_addresses": datetime.date,
    "week_addresses": lambda time: time.isocalendar()[:2],
    "month_addresses": lambda time: (time.year, time.month),
    "year_addresses": lambda time: time.year,
}


def analytics_rows(milestones: Sequence[Milestone], genesis: Genesis, network: str, chunk_size: int) -> Rows:
    """Table → rows of those milestones, which follow genesis without a gap."""
    replay, rows = Replay(), defaultdict[str, list[dict[str, Any]]](list)
    for output_id, output in genesis.outputs.items():
        replay.create(output_id, output)
    at = {"ms_range_id": genesis.index // chunk_size, "milestone_index": genesis.index}
    rows["ms_analytics"].append(at | state_of(replay, genesis) | dict.fromkeys(CALENDAR, 0))
    active = defaultdict[tuple[str, Any], set[str]](set)
    for milestone in milestones:
        at = {
            "ms_range_id": milestone.index // chunk_size,
            "milestone_index": milestone.index,
            "ms_timestamp": 1000 * milestone.timestamp,
        }
        before = dict(replay.unspent)
        news = changes(replay, milestone)
        known = before | replay.created
        parts = (
            cone_of(milestone),
            created_by(milestone),
            done_by(milestone, news, known),
            state_of(replay, genesis),
            active_so_far(milestone, news, active),
        )
        rows["ms_analytics"].append(at | {name: value for part in parts for name, value in part.items()})
        for address in sorted({each["address"] for each in news}):
            own = [each for each in news if each["address"] == address]
            sent = sum(each["amount"] for each in own if each["is_spent"])
            received = sum(each["amount"] for each in own if not each["is_spent"])
            rows["address_analytics"].append(at | {"address": address, "sent_tokens": sent, "recv_tokens": received})
    for date, of_day in by_day(milestones).items():
        metrics = metrics_of(of_day)
        rows["metrics_cache"] += [
            {"date": date, "variant": variant, "metric": metric, "value": value, "metric_value": count}
            for (variant, metric, value), count in metrics.items()
        ]
        rows["daily_analytics"].append({"year": int(date[:4]), "date": date} | day_of(of_day, metrics))
    for ms_range_id in sorted({milestone.index // chunk_size for milestone in milestones}):
        own = [row for row in rows["ms_analytics"] if row["ms_range_id"] == ms_range_id and "message_count" in row]
        sums = [sum(row[name] for row in own) for name in ("message_count", "transaction_count", "transferred_tokens")]
        runs = [[own[0]["milestone_index"], own[-1]["milestone_index"], *sums]]
        row = {"network": network, "ms_range_id": ms_range_id, "runs": json.dumps(runs)}
        rows["analytics_ranges"].append(row)
    return dict(rows)


def cone_of(milestone: Milestone) -> dict[str, int]:
    """Counts and bytes of a cone's messages."""
    states = Counter(message.state for message in milestone.messages)
    found = Counter(
        message_count=len(milestone.messages),
        transaction_count=states[1],
        conflicting_count=states[2],
        no_transaction_count=states[0],
        message_bytes=sum(len(message.data) for message in milestone.messages),
        no_payload_count=sum(message.payload_kind is None for message in milestone.messages),
    )
    for payload in ("transaction", "treasury_transaction", "milestone", "tagged_data"):
        some = [each for each in milestone.messages if PAYLOADS.get(each.payload_kind or 0) == payload]
        some = [each for each in some if each.payload_kind is not None]
        found[f"{payload}_payload_count"] = len(some)
        found[f"{payload}_bytes"] = sum(len(each.data) for each in some)
    for items in ("inputs", "outputs"):
        for bucket in (*map(str, range(1, 8)), *BUCKETS.values()):
            found[f"{items}_{bucket}"] = 0
    for message in included(milestone):
        transaction = transaction_of(message)
        found[f"inputs_{bucket_of(len(transaction.spends))}"] += 1
        found[f"outputs_{bucket_of(len(transaction.outputs))}"] += 1
    return dict(found)


def bucket_of(count: int) -> str:
    """The bucket of a number of inputs or outputs."""
    return next((name for counts, name in BUCKETS.items() if count in counts), str(count))


def included(milestone: Milestone) -> Iterator[Message]:
    """Messages whose transaction took effect."""
    return (message for message in milestone.messages if message.state == 1)


def created_by(milestone: Milestone) -> dict[str, int]:
    """Created outputs, and the amounts that transactions moved."""
    moved = [output for message in included(milestone) for output in transaction_of(message).outputs]
    funds = milestone.receipt.funds if milestone.receipt is not None else ()
    found = {"transferred_tokens": sum(output.amount for output in moved)}
    for kind in KINDS:
        some = [output.amount for output in (*moved, *funds) if output.kind == kind]
        found |= {f"{kind}_created_count": len(some), f"{kind}_created_amount": sum(some)}
    return found


def done_by(milestone: Milestone, news: Sequence[dict[str, Any]], known: dict[str, Output]) -> dict[str, int]:
    """The figures of a milestone's changes."""
    found = Counter(active_addresses=len({each["address"] for each in news}), transferred_amount=0)
    for kind in CHAIN_KINDS:
        found[f"{kind}_new_count"] = found[f"{kind}_destroyed_count"] = 0
    for name in ("foundry_transferred", "nft_transferred", "alias_state_changed", "alias_governor_changed"):
        found[f"{name}_count"] = 0
    for name in ("minted", "transferred", "burned"):
        found[f"native_tokens_{name}_count"] = 0
    for message in included(milestone):
        transaction = transaction_of(message)
        taken = {spend.output_id: known[spend.output_id] for spend in transaction.spends}
        made = {transaction.transaction_id + u16(idx).hex(): each for idx, each in enumerate(transaction.outputs)}
        gains = by_owner(made.values())
        for output in taken.values():
            gains[owner_at(output, milestone.timestamp)] -= output.amount
        found["transferred_amount"] += sum(gain for gain in gains.values() if gain > 0)
        before, after = chain_objects(taken), chain_objects(made)
        for kind, _ in after.keys() - before.keys():
            found[f"{kind}_new_count"] += 1
        for kind, _ in before.keys() - after.keys():
            found[f"{kind}_destroyed_count"] += 1
        for key in after.keys() & before.keys():
            kind, _ = key
            if kind != "alias":
                found[f"{kind}_transferred_count"] += 1
                continue
            found["alias_state_changed_count"] += state_index(before[key]) != state_index(after[key])
            found["alias_governor_changed_count"] += before[key].roles["governor"] != after[key].roles["governor"]
        old, new = tokens_of(taken.values()), tokens_of(made.values())
        for token in old.keys() | new.keys():
            found["native_tokens_minted_count"] += new[token] > old[token]
            found["native_tokens_burned_count"] += new[token] < old[token]
            found["native_tokens_transferred_count"] += token in old and token in new
    return dict(found)


def active_so_far(
    milestone: Milestone, news: Sequence[dict[str, Any]], active: dict[tuple[str, Any], set[str]]
) -> dict[str, int]:
    """Addresses of each calendar interval of the milestone; `active` gathers them by interval."""
    found = {}
    for name, of_date in CALENDAR.items():
        interval = name, of_date(datetime.fromtimestamp(milestone.timestamp, UTC))
        active[interval].update(each["address"] for each in news)
        found[name] = len(active[interval])
    return found


def chain_objects(outputs: dict[str, Output]) -> dict[tuple[str, str], Output]:
    """Aliases, foundries and NFTs among them, by kind and id."""
    return {
        (output.kind, output.keys(output_id)["chain"]): output
        for output_id, output in outputs.items()
        if output.kind in CHAIN_KINDS
    }


def state_index(alias: Output) -> bytes:
    """The four bytes after kind, amount, native tokens and alias id."""
    at = 10 + 70 * alias.data[9] + 32
    return alias.data[at : at + 4]


def tokens_of(outputs: Iterable[Output]) -> Counter[bytes]:
    """The amount of each native token that they hold."""
    found: Counter[bytes] = Counter()
    for output in outputs:
        if output.kind != "legacy":
            for number in range(output.data[9]):
                token = output.data[10 + 70 * number : 80 + 70 * number]
                found[token[:38]] += int.from_bytes(token[38:], "little")
    return found


def by_owner(outputs: Iterable[Output]) -> Counter[str]:
    """Base tokens by the owner that each output names."""
    found: Counter[str] = Counter()
    for output in outputs:
        found[output.owner] += output.amount
    return found


def state_of(replay: Replay, genesis: Genesis) -> dict[str, int]:
    """The figures of the unspent outputs."""
    unspent = replay.unspent
    found = {"holders": sum(amount > 0 for amount in by_owner(unspent.values()).values())}

    def count(name: str, outputs: Iterable[Output]) -> None:
        amounts = [output.amount for output in outputs]
        found[f"{name}_count"], found[f"{name}_amount"] = len(amounts), sum(amounts)

    for kind in KINDS:
        count(kind, (output for output in unspent.values() if output.kind == kind))
    stardust = [output for output in unspent.values() if output.kind != "legacy"]
    found["key_bytes"] = 34 * len(stardust)
    found["data_bytes"] = sum(len(output.data) + 32 + 4 + 4 for output in stardust)
    count("unclaimed", (unspent[output_id] for output_id in genesis.outputs.keys() & unspent.keys()))
    for condition in ("expiration", "timelock", "storage_deposit_return"):
        count(condition, (output for output in stardust if output.filter_values.get(condition) is not None))
    found["storage_deposit_owed"] = sum(
        output.filter_values.get("storage_deposit_return_amount") or 0 for output in stardust
    )
    return found


def by_day(milestones: Sequence[Milestone]) -> dict[str, list[Milestone]]:
    """Milestones by UTC day."""
    found = defaultdict[str, list[Milestone]](list)
    for milestone in milestones:
        found[str(datetime.fromtimestamp(milestone.timestamp, UTC).date())].append(milestone)
    return dict(found)


def metrics_of(milestones: Sequence[Milestone]) -> Counter[tuple[str, str, str]]:
    """(variant, metric, value) → signatures, outputs, both together, or messages."""
    found: Counter[tuple[str, str, str]] = Counter()
    for milestone in milestones:
        for message in milestone.messages:
            found.update(("index", "used", tag) for tag in message.tags)
            if message.state != 1:
                continue
            transaction = transaction_of(message)
            sent = [spend.signer for spend in transaction.spends if spend.signer is not None]
            received = [output.owner for output in transaction.outputs if output.output_type != 1]
            found.update(("address", "sent", address) for address in sent)
            found.update(("address", "received", address) for address in received)
            found.update(("address", "sent_or_received", address) for address in (*sent, *received))
    return found


def day_of(milestones: Sequence[Milestone], metrics: Counter[tuple[str, str, str]]) -> dict[str, int]:
    """The sums of a day."""
    kinds = Counter(key[:2] for key in metrics)
    messages = [message for milestone in milestones for message in milestone.messages]
    with_transaction = [message for message in messages if message.transaction is not None]
    named = Counter(output.owner for message in with_transaction for output in transaction_of(message).outputs)
    return {
        "total_addresses": kinds["address", "sent_or_received"],
        "send_addresses": kinds["address", "sent"],
        "recv_addresses": kinds["address", "received"],
        "used_indexes": kinds["index", "used"],
        "output_addresses": len(named),
        "output_count": named.total(),
        "max_outputs": max(named.values(), default=0),
        "milestone_count": len(milestones),
        "message_count": len(messages),
        "transaction_count": sum(message.state == 1 for message in messages),
        "conflicting_count": sum(message.state == 2 for message in messages),
        "transaction_payload_count": len(with_transaction),
        "transferred_tokens": sum(created_by(milestone)["transferred_tokens"] for milestone in milestones),
    }
