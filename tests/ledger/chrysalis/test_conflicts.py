"""White flag on the oracle ledger, verdict by verdict; Hornet's order of checks; signatures by TIP-14."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from ledger.chrysalis.codec import (
    Essence,
    ReferenceUnlock,
    SigLockedDustAllowance,
    SigLockedSingle,
    SignatureUnlock,
    Transaction,
    TransferOutput,
    Unlock,
    UtxoInput,
    encode_essence,
)
from ledger.chrysalis.conflicts import Conflict, apply, dust_changes, find_conflict
from ledger.chrysalis.dust import NO_DUST, Dust, dust_of
from ledger.crypto import ed25519
from ledger.ids import signing_hash
from ledger.inputs import InputConflict, OutputFacts, resolve_at
from tests.ledger.cases import load
from tests.ledger.replay import Replay, expected, genesis, milestones, replayed, transactions

MI = 1_000_000


def test_every_message_has_the_inclusion_state_and_reason_of_the_oracle() -> None:
    found = {each.message_id.hex(): int(each.conflict) for verdicts in replayed()[1] for each in verdicts}
    stated = {}
    for line in milestones():
        for entry in line["messages"]:
            metadata = entry["metadata"]
            if metadata["ledgerInclusionState"] != "noTransaction":
                stated[entry["id"]] = metadata.get("conflictReason", 0)
                assert (metadata["ledgerInclusionState"] == "included") == (stated[entry["id"]] == 0)
    assert found == stated
    assert set(found.values()) == {0, 1, 2, 3, 4, 5, 6}
    assert len(found) == expected()["counts"]["included"] + expected()["counts"]["conflicting"]
    reasons = {each["id"]: each["conflictReason"] for each in expected()["conflicts"]}
    assert {key: reason for key, reason in found.items() if reason} == reasons


def test_every_milestone_changes_the_outputs_that_the_oracle_says() -> None:
    for line, verdicts in zip(milestones(), replayed()[1], strict=True):
        created = [identity.hex() for each in verdicts for identity, _ in each.created]
        consumed = [identity.hex() for each in verdicts for identity, _ in each.spent]
        receipt = line["milestone"]["payload"]["receipt"]
        funds = range(len(receipt["funds"]) if receipt else 0)
        created += [line["milestone"]["milestoneId"] + each.to_bytes(2, "little").hex() for each in funds]
        assert created == line["milestone"]["utxoChanges"]["createdOutputs"]
        assert consumed == line["milestone"]["utxoChanges"]["consumedOutputs"]


def test_the_end_state_is_the_oracles() -> None:
    replay, _ = replayed()
    found = {}
    for identity, facts in replay.facts.items():
        found[identity.hex()] = {
            "messageId": replay.messages[identity].hex(),
            "isSpent": facts.spent is not None,
            "address": facts.output.address[1:].hex(),
            "type": facts.output.KIND,
            "amount": facts.output.amount,
        }
        if facts.spent:
            found[identity.hex()] |= {"milestone": facts.spent[0], "transaction": replay.spenders[identity].hex()}
    stated = {}
    for identity, each in expected()["outputs"].items():
        stated[identity] = {
            "messageId": each["messageId"],
            "isSpent": each["isSpent"],
            "address": each["output"]["address"]["address"],
            "type": each["output"]["type"],
            "amount": each["output"]["amount"],
        }
        if each["isSpent"]:
            spent = {"milestone": each["milestoneIndexSpent"], "transaction": each["transactionIdSpent"]}
            stated[identity] |= spent
    assert found == stated


def test_balances_and_dust_are_the_oracles() -> None:
    replay, _ = replayed()
    unspent = {key: facts.output for key, facts in replay.facts.items() if facts.spent is None}
    assert {each["address"] for each in expected()["addresses"]} >= {
        each.address[1:].hex() for each in unspent.values()
    }
    for each in expected()["addresses"]:
        address = b"\0" + bytes.fromhex(each["address"])
        own = {key.hex(): output for key, output in unspent.items() if output.address == address}
        assert sum(output.amount for output in own.values()) == each["balance"]
        assert own.keys() == set(each["unspentOutputIds"])
        assert sum((dust_of(output) for output in own.values()), NO_DUST) == replay.dust.get(address, NO_DUST)
        assert replay.dust.get(address, NO_DUST).allowed == each["dustAllowed"]
    # In between, both existed and were spent again.
    passed = sum((dust_of(facts.output) for facts in replay.facts.values() if facts.spent), NO_DUST)
    assert passed.allowance >= MI
    assert passed.outputs > 1
    total = sum(output.amount for output in unspent.values())
    assert total + expected()["treasury"]["amount"] == expected()["tokenSupply"]


def test_facts_of_the_whole_history_give_the_same_verdict_at_every_position() -> None:
    """Like a store that is ahead: no transaction sees what happened after its position."""
    facts = replayed()[0].facts

    def dust_at(position: tuple[int, int], address: bytes) -> Dust:
        own = [each for each in facts.values() if each.output.address == address and each.created < position]
        present = [each.output for each in own if each.spent is None or each.spent >= position]
        return sum(map(dust_of, present), NO_DUST)

    for line, verdicts in zip(milestones(), replayed()[1], strict=True):
        index = line["milestone"]["index"]
        listed = transactions(line)
        for (white_flag_index, _, payload), applied in zip(listed, verdicts, strict=True):
            at = (index, white_flag_index)
            keys = [each.transaction_id + each.index.to_bytes(2, "little") for each in payload.essence.inputs]
            inputs = [resolve_at(at, facts.get(key)) for key in keys]
            assert find_conflict(payload, inputs, lambda address, at=at: dust_at(at, address)) == applied.conflict
        again = apply(
            index,
            [each[1:] for each in listed],
            facts.get,
            lambda address, index=index: dust_at((index, 0), address),
        )
        assert list(again) == verdicts


def test_a_ledger_without_its_genesis_knows_no_inputs() -> None:
    empty = Replay()
    for entry in genesis()["outputs"]:
        del empty.facts[bytes.fromhex(entry["outputId"])]
    verdicts = empty.apply(milestones()[0])
    assert verdicts
    assert {each.conflict for each in verdicts} == {Conflict.INPUT_NOT_FOUND}
    assert all(each.spent == each.created == () for each in verdicts)


KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number in (1, 2, 3)]
PUBLIC = [key.public_key().public_bytes_raw() for key in KEYS]
ADDRESSES = [b"\0" + blake2b(key, digest_size=32).digest() for key in PUBLIC]
TARGET = b"\0" + bytes(32)


def transaction(outputs: Sequence[TransferOutput], *owners: int | ReferenceUnlock) -> Transaction:
    """One input per owner: a key that signs it, or a reference to an earlier unlock block."""
    inputs = tuple(UtxoInput(bytes([1] * 32), position) for position in range(len(owners)))
    essence = Essence(inputs, tuple(outputs), None)
    signed = signing_hash(encode_essence(essence))
    blocks: list[Unlock] = [
        each if isinstance(each, ReferenceUnlock) else SignatureUnlock(PUBLIC[each], KEYS[each].sign(signed))
        for each in owners
    ]
    return Transaction(essence, tuple(blocks))


def no_dust(_: bytes) -> Dust:
    return NO_DUST


def single(amount: int, address: bytes = TARGET) -> SigLockedSingle:
    return SigLockedSingle(address, amount)


def allowance(amount: int, address: bytes = TARGET) -> SigLockedDustAllowance:
    return SigLockedDustAllowance(address, amount)


def test_a_sound_transaction_is_applied() -> None:
    payload = transaction([single(3 * MI)], 0, 1, ReferenceUnlock(0))
    inputs = [single(MI, ADDRESSES[0]), single(MI, ADDRESSES[1]), single(MI, ADDRESSES[0])]
    assert find_conflict(payload, inputs, no_dust) == Conflict.NONE


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ([InputConflict.SPENT, InputConflict.NOT_FOUND], Conflict.INPUT_SPENT),
        ([InputConflict.NOT_FOUND, InputConflict.SPENT_IN_MILESTONE], Conflict.INPUT_NOT_FOUND),
        ([single(MI, ADDRESSES[0]), InputConflict.SPENT_IN_MILESTONE], Conflict.INPUT_SPENT_IN_MILESTONE),
        ([single(1, TARGET), InputConflict.SPENT], Conflict.INPUT_SPENT),
    ],
)
def test_the_first_failing_input_decides_before_all_else(inputs: list[TransferOutput], reason: Conflict) -> None:
    assert find_conflict(transaction([single(7)], 1, 2), inputs, no_dust) == reason


def test_then_unlock_blocks_sums_dust_and_signatures_in_this_order() -> None:
    owned = [single(MI, ADDRESSES[0]), single(MI, ADDRESSES[0])]
    dusty = [single(2 * MI - 5), single(5, ADDRESSES[2])]
    unfit, forged = transaction([single(7)], 0, 1), transaction(dusty, 1, ReferenceUnlock(0))
    # Two signatures for one address, and the sums differ as well.
    assert find_conflict(unfit, owned, no_dust) == Conflict.SEMANTIC
    # The sums differ, there is dust, and the key is a different one.
    more = [single(MI, ADDRESSES[0]), single(MI + 1, ADDRESSES[0])]
    assert find_conflict(forged, more, no_dust) == Conflict.SUMS_DIFFER
    # There is dust, and the key is a different one: Hornet checks signatures last.
    assert find_conflict(forged, owned, no_dust) == Conflict.DUST_ALLOWANCE
    assert find_conflict(forged, owned, lambda _: Dust(allowance=MI)) == Conflict.INVALID_SIGNATURE


def test_a_signature_of_something_else_is_invalid() -> None:
    payload = transaction([single(MI)], 0)
    (block,) = payload.unlock_blocks
    assert isinstance(block, SignatureUnlock)
    foreign = replace(payload, unlock_blocks=(replace(block, signature=KEYS[0].sign(b"else")),))
    assert find_conflict(payload, [single(MI, ADDRESSES[0])], no_dust) == Conflict.NONE
    assert find_conflict(foreign, [single(MI, ADDRESSES[0])], no_dust) == Conflict.INVALID_SIGNATURE


@pytest.mark.parametrize("reference", [0, 1, 2, 3, 126])
def test_a_reference_must_point_back_to_a_signature(reference: int) -> None:
    payload = transaction([single(4 * MI)], 0, ReferenceUnlock(0), ReferenceUnlock(0), 1)
    first, *_, last = payload.unlock_blocks
    blocks = (first, ReferenceUnlock(0), ReferenceUnlock(reference), last)
    owned = [single(MI, ADDRESSES[0])] * 2 + [
        single(MI, ADDRESSES[1 if reference == 3 else 0]),
        single(MI, ADDRESSES[1]),
    ]
    found = find_conflict(replace(payload, unlock_blocks=blocks), owned, no_dust)
    assert found == (Conflict.NONE if reference == 0 else Conflict.SEMANTIC)


@pytest.mark.parametrize(
    ("before", "spent", "created", "passes"),
    [
        # Dust without an allowance, and with one; the allowance may come with the dust.
        (Dust(), [single(2 * MI)], [single(MI - 1), single(MI + 1)], False),
        (Dust(allowance=MI), [single(2 * MI)], [single(MI - 1), single(MI + 1)], True),
        (Dust(), [single(2 * MI)], [single(MI - 1), allowance(MI + 1)], True),
        # An output of exactly the threshold is not dust.
        (Dust(), [single(2 * MI)], [single(MI), single(MI)], True),
        # An allowance of a million permits ten outputs, not eleven; a remainder of 100 000 does not count.
        (Dust(MI, 9), [single(2 * MI)], [single(1), single(2 * MI - 1)], True),
        (Dust(MI, 10), [single(2 * MI)], [single(1), single(2 * MI - 1)], False),
        (Dust(MI + 99_999, 10), [single(2 * MI)], [single(1), single(2 * MI - 1)], False),
        (Dust(MI + 100_000, 10), [single(2 * MI)], [single(1), single(2 * MI - 1)], True),
        # Never more than a hundred.
        (Dust(50 * MI, 99), [single(2 * MI)], [single(1), single(2 * MI - 1)], True),
        (Dust(50 * MI, 100), [single(2 * MI)], [single(1), single(2 * MI - 1)], False),
        # An allowance may be spent only as far as the remaining dust permits.
        (Dust(MI, 0), [allowance(MI)], [single(MI)], True),
        (Dust(MI, 1), [allowance(MI)], [single(MI)], False),
        (Dust(2 * MI, 10), [allowance(MI)], [single(MI)], True),
        (Dust(2 * MI, 11), [allowance(MI)], [single(MI)], False),
        # Spending dust makes room, in the same transaction too.
        (Dust(MI, 1), [allowance(MI), single(7)], [single(MI + 7)], True),
        (Dust(MI, 10), [single(7), single(MI)], [single(8), single(MI - 1)], False),
        (Dust(MI, 10), [single(7), single(MI)], [single(8), single(MI - 1, ADDRESSES[1])], False),
        (Dust(MI, 10), [single(7), single(MI)], [single(6), single(MI + 1)], True),
    ],
)
def test_dust_rules(before: Dust, spent: list[TransferOutput], created: list[TransferOutput], passes: bool) -> None:
    # Everything is on the signer's address; each row has equal sums.
    owned = [replace(each, address=ADDRESSES[0]) for each in spent]
    outputs = [each if each.address == ADDRESSES[1] else replace(each, address=ADDRESSES[0]) for each in created]
    payload = transaction(outputs, 0, *[ReferenceUnlock(0)] * (len(owned) - 1))
    state = {ADDRESSES[0]: before}
    found = find_conflict(payload, owned, lambda address: state.get(address, NO_DUST))
    assert found == (Conflict.NONE if passes else Conflict.DUST_ALLOWANCE)


def test_an_address_whose_dust_stays_as_it_was_is_looked_at_too() -> None:
    # One dust output for another: the number stays the same, but an address with too many already is rejected.
    assert dust_changes([single(7)], [single(7)]) == {TARGET: NO_DUST}
    payload = transaction([single(7, ADDRESSES[0])], 0)
    assert find_conflict(payload, [single(7, ADDRESSES[0])], lambda _: Dust(0, 1)) == Conflict.DUST_ALLOWANCE


def test_a_transaction_sees_the_dust_that_those_before_it_in_the_milestone_moved() -> None:
    sent: dict[bytes, OutputFacts[TransferOutput]] = {}

    def paying(number: int, outputs: list[TransferOutput], *spent: TransferOutput) -> tuple[bytes, Transaction]:
        """A transaction of the first key that spends outputs of milestone 1."""
        identity = bytes([number] * 32)
        inputs = tuple(UtxoInput(identity, position) for position in range(len(spent)))
        for position, output in enumerate(spent):
            sent[identity + position.to_bytes(2, "little")] = OutputFacts(output, (1, 0))
        essence = Essence(inputs, tuple(outputs), None)
        signature = KEYS[0].sign(signing_hash(encode_essence(essence)))
        blocks = (SignatureUnlock(PUBLIC[0], signature), *[ReferenceUnlock(0)] * (len(spent) - 1))
        return identity, Transaction(essence, blocks)

    own = ADDRESSES[0]
    dusty = [single(1), single(2 * MI - 1, own)]
    listed = [
        paying(1, dusty, single(2 * MI, own)),  # no allowance yet
        paying(2, [allowance(MI), single(MI, own)], single(2 * MI, own)),
        *[paying(number, dusty, single(2 * MI, own)) for number in range(3, 14)],  # ten of eleven are permitted
        paying(14, [allowance(MI)], single(MI, own)),
        paying(15, dusty, single(2 * MI, own)),
    ]
    verdicts = list(apply(2, listed, sent.get, no_dust))
    rejected, none = Conflict.DUST_ALLOWANCE, Conflict.NONE
    assert [each.conflict for each in verdicts] == [rejected, none, *[none] * 10, rejected, none, none]
    # The next milestone knows only what the caller passes.
    (again,) = apply(3, listed[:1], sent.get, lambda address: Dust(2 * MI, 11) if address == TARGET else NO_DUST)
    assert again.conflict == none


def test_dust_allowed_is_room_for_one_more() -> None:
    assert [Dust(MI, count).allowed for count in (0, 9, 10, 11)] == [True, True, False, False]
    assert not NO_DUST.allowed
    assert Dust(100 * MI, 99).allowed
    assert not Dust(100 * MI, 100).allowed


POSITIONS = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(POSITIONS, POSITIONS, st.none() | POSITIONS)
def test_an_output_is_unspent_from_its_creator_to_its_spender(
    at: tuple[int, int], created: tuple[int, int], spent: tuple[int, int] | None
) -> None:
    output = single(MI)
    facts = OutputFacts(output, created, spent)
    moments = sorted((milestone, index) for milestone in range(4) for index in range(4))
    history: dict[tuple[int, int], object] = {}
    state: object = InputConflict.NOT_FOUND
    spent_in = None
    for moment in moments:  # what each moment finds, then what happens in it
        if state == InputConflict.SPENT_IN_MILESTONE and moment[0] != spent_in:
            state = InputConflict.SPENT
        history[moment] = state
        if moment == created:
            state = output
        if moment == spent and created < spent:
            state, spent_in = InputConflict.SPENT_IN_MILESTONE, moment[0]
    if spent is None or created < spent:
        assert resolve_at(at, facts) == history[at]
    assert resolve_at(at, None) == InputConflict.NOT_FOUND


@pytest.mark.parametrize("vector", load("ed25519")["vectors"])
def test_signatures_are_judged_as_tip_14_says(vector: dict[str, str]) -> None:
    key, message, signature = (bytes.fromhex(vector[name]) for name in ("pub_key", "message", "signature"))
    owns = blake2b(key, digest_size=32).hexdigest() == vector["address"][2:]
    assert (owns and ed25519.verify(key, message, signature)) == vector["valid"]


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=40), st.integers(0, 511), st.integers(0, 255))
def test_a_librarys_signatures_hold_and_no_changed_one_does(seed: bytes, data: bytes, bit: int, other: int) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), key.sign(data)
    assert ed25519.verify(public, data, signature)
    changed = bytearray(signature)
    changed[bit // 8] ^= 1 << bit % 8
    assert not ed25519.verify(public, data, bytes(changed))
    assert not ed25519.verify(public, data + bytes([other]), signature)
    order = 2**252 + 27742317777372353535851937790883648493
    doubled = signature[:32] + (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")
    assert not ed25519.verify(public, data, doubled)
