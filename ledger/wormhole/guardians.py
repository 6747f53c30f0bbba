"""Guardian sets: their members, the start of each set, and the message that named it.

A set is learned from a governance message that the previous set signed with a quorum, starting at set 0
(`verify.learn`). `PUBLISHED` contains the published sets, for archives in which some of those messages are missing. A
message confirms a published set and never changes it. Sources: guardianset/mainnetv2/canonical_sets and
scripts/devnet-consts.json of wormhole-foundation/wormhole, common/domain/guardianset.go of
wormhole-foundation/wormhole-explorer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ledger.reader import CodecError
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER
from ledger.wormhole.governance import CORE, EVERY_CHAIN, GUARDIAN_SET_UPDATE, decode_governance
from ledger.wormhole.vaa import Vaa, digest

EXPIRES_AFTER = 86_400
"""Seconds for which contracts still accept a set after the next one starts."""


@dataclass(frozen=True, slots=True)
class GuardianSet:
    """A guardian set. `addresses` are in the order of the guardian indices of signatures."""

    index: int
    addresses: tuple[bytes, ...]
    since: int = 0  # unix seconds, the timestamp of the message that named it; 0 if there is none
    named_by: bytes | None = None  # the digest of that message; None for a set that is only published

    @property
    def quorum(self) -> int:
        """The number of signatures that make a message valid: more than two thirds."""
        return quorum(len(self.addresses))


def quorum(size: int) -> int:
    """The quorum of a set with `size` members."""
    return size * 2 // 3 + 1


def _hex(addresses: str) -> tuple[bytes, ...]:
    return tuple(map(bytes.fromhex, addresses.split()))


_MAINNET_0 = GuardianSet(0, _hex("58cc3ae5c097b213ce3c81979e1b9f9570746aa5"))
_MAINNET_1 = GuardianSet(
    1,
    _hex(
        """
        58cc3ae5c097b213ce3c81979e1b9f9570746aa5 ff6cb952589bde862c25ef4392132fb9d4a42157
        114de8460193bdf3a2fcf81f86a09765f4762fd1 107a0086b32d7a0977926a205131d8731d39cbeb
        8c82b2fd82faed2711d59af0f2499d16e726f6b2 11b39756c042441be6d8650b69b54ebe715e2343
        54ce5b4d348fb74b958e8966e2ec3dbd4958a7cd eb5f7389fa26941519f0863349c223b73a6ddee7
        74a3bf913953d695260d88bc1aa25a4eee363ef0 000ac0076727b35fbea2dac28fee5ccb0fea768e
        af45ced136b9d9e24903464ae889f5c8a723fc14 f93124b7c738843cbb89e864c862c38cddcccf95
        d2cc37a4dc036a8d232b48f62cdd4731412f4890 da798f6896a3331f64b48c12d1d57fd9cbe70811
        71aa1be1d36cafe3867910f99c09e347899c19c3 8192b6e7387ccd768277c17dab1b7a5027c0b3cf
        178e21ad2e77ae06711549cfbb1f9c7a9d8096e8 5e1487f35515d02a92753504a8d75471b9f49edb
        6fbebc898f403e4773e95feb15e80c9a99c8348d
        """
    ),
    since=1628094930,
)
_REPLACED = (
    (1651416474, {7: "66b9590e1c41e0b226937bf9217d1d67fd4e91f5"}),
    (1673870400, {7: "15e7caf07c4e3dc8e7c469f92c8cd88fb8005a20"}),
    (1713281400, {0: "5893b5a76c3f739645648885bdccc06cd70a3cd3"}),
    (
        1773580004,
        {
            6: "938f104aeb5581293216ce97d771e0cb721221b1",
            14: "d1f64e26238811de5553c40f64af41ee1b6057cc",
            15: "43ac8f567a31e7850da532b361988bfe0d3ae11b",
        },
    ),
    (
        1777981932,
        {
            5: "42579bffbcf4276e290ab8e4c162bd4052b97970",
            7: "18e41674ccf26329cd111406c1d05c6c80b23edc",
            8: "9d16870160e703324d057c3361c34c5befba2c34",
            15: "3f851ad586a47cef8d04748f33ab0d71395f06b4",
            17: "7899ceab1dc961dae9defdb7a4f521269a5448fc",
        },
    ),
    (
        1783669263,
        {
            7: "f3ea0ad4ffb5a178ae4ebc21861651b25bdcbb91",
            14: "ae565927bb8db25cd8bf3e7bb663d70023e4ea78",
            18: "61d9800f9fcb4160fb0c6cf3a0902592bac2b434",
        },
    ),
)
"""Members that changed in sets 2 and later: start of the set, place, new member."""


def _mainnet() -> Iterator[GuardianSet]:
    yield _MAINNET_0
    addresses = list(_MAINNET_1.addresses)
    yield _MAINNET_1
    for index, (since, members) in enumerate(_REPLACED, 2):
        for place, address in members.items():
            addresses[place] = bytes.fromhex(address)
        yield GuardianSet(index, tuple(addresses), since)


PUBLISHED: Mapping[str, Sequence[GuardianSet]] = {
    "mainnet": tuple(_mainnet()),
    "testnet": (GuardianSet(0, _hex("13947bd48b18e53fdaeee77f3473391ac727c638")),),
    "devnet": (GuardianSet(0, _hex("befa429d57cd18b7f8a4d91a2da9ab4af05d0fbe")),),
}


def find_update(vaa: Vaa) -> GuardianSet | None:
    """The set that a message names; None if it names none. Signatures are not checked."""
    if (vaa.emitter_chain, vaa.emitter_address) != (GOVERNANCE_CHAIN, GOVERNANCE_EMITTER):
        return None
    try:
        order = decode_governance(vaa.payload)
    except CodecError:
        return None
    if (order.module, order.action, order.target_chain) != (CORE, GUARDIAN_SET_UPDATE, EVERY_CHAIN):
        return None
    addresses = order.fields.get("guardians")
    if not addresses:
        return None  # contracts reject an empty set; a message with another layout names none
    return GuardianSet(order.fields["new_index"], addresses, vaa.timestamp, digest(vaa))
