"""What each proof level costs in one process: the functions of a load, over the milestones of an archive in order.

Each step is timed alone, in CPU seconds; a level includes the steps of the weaker ones. Beside a step runs what its
cryptography alone needs, on the same bytes: BLAKE2b-256 of the messages (hashlib), Ed25519 of the signatures
(libsodium).
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from db.connect import StoreSettings
from etl.lake.checked import Checked
from etl.sources import milestones_of, read_cone
from etl.sources.cone import TRANSACTIONS
from etl.sources.files import archive_files
from etl.sources.genesis import open_genesis
from etl.sources.lines import lines
from etl.sources.unpacking import open_stream
from etl.verification.cone_verification import Copy, check_copy
from etl.verification.milestone_checks import Proof, prove
from ledger import ids
from ledger.chrysalis import conflicts as chrysalis_conflicts
from ledger.chrysalis import transaction as chrysalis_transaction
from ledger.chrysalis.conflicts import dust_changes
from ledger.chrysalis.dust import NO_DUST, Dust, dust_of
from ledger.chrysalis.values import SigLockedDustAllowance, SigLockedSingle, SignatureUnlock
from ledger.eras import CHRYSALIS, STARDUST, Coordinator, Eras, KeyRange
from ledger.inputs import Applied, OutputFacts
from ledger.milestone_proof import signatures, signed_hash
from ledger.stardust import conflicts as stardust_conflicts
from ledger.stardust import transaction as stardust_transaction
from ledger.stardust import values as stardust_values
from ledger.stardust.protocol_parameters import find_violation

Signed = tuple[bytes, bytes, bytes]
"""Public key, message, signature."""


@dataclass(frozen=True)
class Step:
    """A step of verification: microseconds of CPU per message, and those of its cryptography alone. None: it has
    none.
    """

    level: str
    meaning: str
    own_us: float
    bare_us: float | None
    bare: str


@dataclass(frozen=True)
class Archive:
    """A generated archive in memory: its lines by milestone, its eras, the coordinator, and the outputs of genesis."""

    lines: Sequence[tuple[int, bytes]]
    eras: Eras
    coordinator: Coordinator
    outputs: dict[bytes, OutputFacts[Any]]


def read_archive(folder: Path, settings: StoreSettings, *, stardust: bool) -> Archive:
    """Reads an archive of bench.load.archive: its folder `all`."""
    codec = STARDUST if stardust else CHRYSALIS
    eras = settings.eras(codec)
    found = []
    for path in archive_files([folder]):
        with open_stream(str(path)) as stream:
            found += [(index, line) for _, _, line in lines(stream) for index in milestones_of(line)]
    supply = eras.eras[-1].parameters[0][1].token_supply if stardust else None
    with open_genesis(folder / "genesis.json", supply) as genesis:
        keys = tuple(KeyRange(key, genesis.ledger_index + 1, None) for key in genesis.coordinator_public_keys)
        at = (genesis.ledger_index, 0)
        outputs = {each.output_id: OutputFacts(each.output, at) for each in genesis.outputs}
    return Archive(sorted(found), eras, Coordinator(keys, len(keys)), outputs)


def measure(archive: Archive, rounds: int) -> list[Step]:
    """The steps in order; medians of the rounds, in which all take turns."""
    checked = [_check(archive, index, line) for index, line in archive.lines]
    count = sum(len(each.messages) for each in checked)
    of_milestones, of_transactions = [*_of_milestones(checked)], [*_of_transactions(checked)]
    works: list[Callable[[], object]] = [
        lambda: [_check(archive, index, line) for index, line in archive.lines],
        lambda: [_prove(each, None) for each in checked],
        lambda: [_prove(each, archive.coordinator) for each in checked],
        lambda: [*_replay(archive, checked)],
        lambda: [blake2b(entry.data, digest_size=32).digest() for each in checked for entry in each.messages],
        partial(_verify, of_milestones),
        partial(_verify, of_transactions),
    ]
    spent: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, seconds in zip(works, spent, strict=True):
            started = time.process_time()
            work()
            seconds.append(time.process_time() - started)
    whole, merkle, signed, full, hashed, by_keys, by_owners = (1e6 * statistics.median(each) / count for each in spent)
    return [
        Step(
            "believed", "line → messages → bytes → ids, cone, order", whole - signed, hashed, "BLAKE2b-256 of the bytes"
        ),
        Step("merkle", "the roots of the milestone", merkle, None, ""),
        Step("signed", "the signatures of the milestone", signed - merkle, by_keys, "Ed25519 of these"),
        Step("full", "transactions against the ledger before them", full, by_owners, "Ed25519 of their unlocks"),
    ]


def _check(archive: Archive, index: int, line: bytes) -> Checked:
    found = check_copy(index, Copy("", 1, partial(read_cone, line, index)), archive.eras, archive.coordinator)
    if found.rejects or found.verified != "signed":
        raise SystemExit(f"milestone {index} is {found.verified}: {found.rejects}")
    return found


def _prove(checked: Checked, coordinator: Coordinator | None) -> Proof:
    assert checked.milestone is not None
    return prove(checked.milestone, checked.messages, coordinator)


def _replay(archive: Archive, checked: Sequence[Checked]) -> Iterator[Applied[Any]]:
    """Applies all transactions in order, from their bytes."""
    facts, dust = dict(archive.outputs), dict[bytes, Dust]()
    for fact in facts.values():
        if isinstance(fact.output, SigLockedSingle | SigLockedDustAllowance):
            dust[fact.output.address] = dust.get(fact.output.address, NO_DUST) + dust_of(fact.output)
    for milestone in checked:
        for place, applied in enumerate([*_apply(archive, milestone, facts, dust)]):
            at = (milestone.milestone_index, place)
            for output_id, output in applied.created:
                facts[output_id] = OutputFacts(output, at)
            for output_id, _ in applied.spent:
                facts[output_id] = replace(facts[output_id], spent=at)
            if milestone.codec is CHRYSALIS:
                spent, created = ([output for _, output in pairs] for pairs in (applied.spent, applied.created))
                for address, change in dust_changes(spent, created).items():
                    dust[address] = dust.get(address, NO_DUST) + change
            yield applied


def _apply(
    archive: Archive, checked: Checked, facts: dict[bytes, OutputFacts[Any]], dust: dict[bytes, Dust]
) -> Iterator[Applied[Any]]:
    """Applies the transactions of one milestone."""
    index = checked.milestone_index
    spends: list[Any] = [
        (entry.message_id, checked.codec.decode(entry.data).payload)
        for entry in checked.messages
        if isinstance(entry.message.payload, TRANSACTIONS)
    ]
    if not isinstance(checked.milestone, stardust_values.Milestone):
        return chrysalis_conflicts.apply(index, spends, facts.get, lambda address: dust.get(address, NO_DUST))
    parameters = archive.eras.at(index).parameters_at(index)
    assert parameters is not None
    for _, payload in spends:
        find_violation(payload.essence, parameters)
    return stardust_conflicts.apply(index, checked.milestone.timestamp, spends, facts.get)


def _of_milestones(checked: Sequence[Checked]) -> Iterator[Signed]:
    for each in checked:
        assert each.milestone is not None
        message = signed_hash(each.milestone)
        yield from ((key, message, signature) for key, signature in signatures(each.milestone))


def _of_transactions(checked: Sequence[Checked]) -> Iterator[Signed]:
    for each in checked:
        for entry in each.messages:
            payload = entry.message.payload
            if isinstance(payload, stardust_values.Transaction):
                essence, unlocks = stardust_transaction.encode_essence(payload.essence), payload.unlocks
            elif isinstance(payload, TRANSACTIONS):
                essence, unlocks = chrysalis_transaction.encode_essence(payload.essence), payload.unlock_blocks
            else:
                continue
            message = ids.signing_hash(essence)
            for unlock in unlocks:
                if isinstance(unlock, SignatureUnlock):
                    yield unlock.public_key, message, unlock.signature


def _verify(signed: Sequence[Signed]) -> None:
    for key, message, signature in signed:
        # Some transactions conflict because of their signatures.
        with suppress(BadSignatureError):
            VerifyKey(key).verify(message, signature)
