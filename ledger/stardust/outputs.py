"""Encodes and decodes Stardust outputs (TIP-18) with native tokens and token schemes; owners and chain ids.

The tables at the end define which unlock conditions and features an output may have.
"""

from typing import Any

from ledger import ids
from ledger.chrysalis.values import TreasuryOutput
from ledger.layout import Kind, Kinds, decode_item
from ledger.reader import CodecError, Reader
from ledger.stardust.conditions import (
    ALIAS,
    CONDITIONS,
    FEATURES,
    MAX_METADATA_BYTES,
    NFT,
    check_address,
    decode_set,
    encode_set,
)
from ledger.stardust.layouts import (
    ALIAS_HEAD,
    NATIVE_TOKEN,
    OUTPUT_HEAD,
    PLAIN,
    PLAIN_AT,
    PLAIN_OUTPUT,
    TOKEN_SCHEME,
    U32,
)
from ledger.stardust.values import (
    AddressCondition,
    AliasOutput,
    BasicOutput,
    Expiration,
    FoundryOutput,
    ImmutableAlias,
    NativeToken,
    NftOutput,
    Output,
    SimpleTokenScheme,
    StateController,
    TransferOutput,
)

MAX_NATIVE_TOKENS = 64
ZERO_ID = bytes(32)
"""The id of an alias or NFT in the output that creates it."""


def encode_output(output: TransferOutput) -> bytes:
    """Encodes an output that has an owner: type, then body."""
    return TRANSFER_OUTPUTS[output.KIND].encode(output)


def owner_at(output: Output, unix_time: int) -> bytes | None:
    """The address (33 bytes) that must be unlocked to spend an output at this time. None for the treasury.

    It is the state controller of an alias, and the alias of a foundry. After its expiration an output belongs to the
    return address.
    """
    if isinstance(output, TreasuryOutput):
        return None
    owner = None
    for each in output.unlock_conditions:
        match each:
            case AddressCondition(address) | StateController(address) | ImmutableAlias(address):
                owner = address
            case Expiration(return_address, expires) if unix_time >= expires:
                owner = return_address
    return owner


def chain_id(output: Output, output_id: bytes) -> bytes | None:
    """The id of an alias, foundry or NFT, which is the same in all its states. None for other outputs.

    Alias and NFT ids have 32 bytes: the hash of the output id of the first state. Foundry ids have 38 bytes.
    """
    match output:
        case AliasOutput(alias_id=own) | NftOutput(nft_id=own):
            return ids.chain_id(output_id) if own == ZERO_ID else own
        case FoundryOutput():
            return foundry_id(output)
    return None


def foundry_id(output: FoundryOutput) -> bytes:
    """The 38-byte id of a foundry and of its token: alias address, serial number, token scheme type."""
    (condition,) = output.unlock_conditions
    assert isinstance(condition, ImmutableAlias)
    return b"".join((condition.address, U32.pack(output.serial_number), bytes([output.token_scheme.KIND])))


def _decode_basic(reader: Reader) -> BasicOutput:
    start = reader.offset
    if reader.data.startswith(PLAIN, start + PLAIN_AT) and start + PLAIN_OUTPUT.size <= reader.end:
        _, amount, _, address = reader.unpack(PLAIN_OUTPUT, "basic output")
        _check_amount(start, amount)
        check_address(reader.offset - len(address), address)
        return BasicOutput(amount, (), (AddressCondition(address),), decode_set(reader, BASIC_FEATURES, "feature"))
    amount, tokens = _decode_head(reader)
    conditions = decode_set(reader, BASIC_CONDITIONS, "unlock condition", (0,))
    return BasicOutput(amount, tokens, conditions, decode_set(reader, BASIC_FEATURES, "feature"))


def _decode_alias(reader: Reader) -> AliasOutput:
    amount, tokens = _decode_head(reader)
    start = reader.offset
    alias_id, state_index, length = reader.unpack(ALIAS_HEAD, "alias id, state index and state metadata length")
    if length > MAX_METADATA_BYTES:
        raise CodecError(start + 36, f"state metadata of at most {MAX_METADATA_BYTES} bytes, found {length}")
    state_metadata = reader.take(length, "state metadata")
    (foundry_counter,) = reader.unpack(U32, "foundry counter")
    if alias_id == ZERO_ID and (state_index or foundry_counter):
        raise CodecError(start + 32, "a new alias with state index 0 and foundry counter 0")
    conditions = decode_set(reader, ALIAS_CONDITIONS, "unlock condition", (4, 5))
    _check_not_its_own(start, ALIAS, alias_id, conditions)
    features = decode_set(reader, ALIAS_FEATURES, "feature")
    immutable = decode_set(reader, CHAIN_FEATURES, "immutable feature")
    return AliasOutput(
        amount, tokens, alias_id, state_index, state_metadata, foundry_counter, conditions, features, immutable
    )


def _decode_foundry(reader: Reader) -> FoundryOutput:
    amount, tokens = _decode_head(reader)
    (serial_number,) = reader.unpack(U32, "serial number")
    scheme = decode_item(reader, TOKEN_SCHEMES, "token scheme")
    conditions = decode_set(reader, FOUNDRY_CONDITIONS, "unlock condition", (6,))
    features = decode_set(reader, FOUNDRY_FEATURES, "feature")
    immutable = decode_set(reader, FOUNDRY_FEATURES, "immutable feature")
    return FoundryOutput(amount, tokens, serial_number, scheme, conditions, features, immutable)


def _decode_nft(reader: Reader) -> NftOutput:
    amount, tokens = _decode_head(reader)
    start = reader.offset
    nft_id = reader.take(32, "NFT id")
    conditions = decode_set(reader, BASIC_CONDITIONS, "unlock condition", (0,))
    _check_not_its_own(start, NFT, nft_id, conditions)
    features = decode_set(reader, BASIC_FEATURES, "feature")
    return NftOutput(
        amount, tokens, nft_id, conditions, features, decode_set(reader, CHAIN_FEATURES, "immutable feature")
    )


def _decode_head(reader: Reader) -> tuple[int, tuple[NativeToken, ...]]:
    start = reader.offset
    _, amount, count = reader.unpack(OUTPUT_HEAD, "output type, amount and native tokens count")
    _check_amount(start, amount)
    return amount, _decode_native_tokens(reader, count) if count else ()


def _check_amount(start: int, amount: int) -> None:
    if amount == 0:
        raise CodecError(start + 1, "an amount above 0, found 0")


def _decode_native_tokens(reader: Reader, count: int) -> tuple[NativeToken, ...]:
    start = reader.offset
    if count > MAX_NATIVE_TOKENS:
        raise CodecError(start - 1, f"at most {MAX_NATIVE_TOKENS} native tokens, found {count}")
    tokens = []
    last = b""
    for token_id, amount in NATIVE_TOKEN.iter_unpack(reader.take(count * NATIVE_TOKEN.size, "native tokens")):
        if token_id <= last:
            raise CodecError(start, "native tokens in ascending order of their ids, each once")
        last = token_id
        if not any(amount):
            raise CodecError(start, "native tokens with amounts above 0, found 0")
        tokens.append(NativeToken(token_id, int.from_bytes(amount, "little")))
    return tuple(tokens)


def _check_not_its_own(start: int, address_type: int, chain_id: bytes, conditions: tuple[Any, ...]) -> None:
    """Rejects an alias that controls itself and an NFT that owns itself. An address condition comes first, if
    present.
    """
    if chain_id == ZERO_ID:
        return
    own = bytes([address_type]) + chain_id
    if any(getattr(each, "address", None) == own for each in conditions):
        raise CodecError(start, "another address in the unlock conditions than the output's own")


def _decode_simple_scheme(reader: Reader) -> SimpleTokenScheme:
    start = reader.offset
    _, *amounts = reader.unpack(TOKEN_SCHEME, "token scheme")
    minted, melted, maximum = [int.from_bytes(each, "little") for each in amounts]
    if maximum == 0:
        raise CodecError(start + 65, "a maximum supply above 0, found 0")
    if not 0 <= minted - melted <= maximum:
        raise CodecError(start + 1, "minted tokens, less the melted ones, from 0 to the maximum supply")
    return SimpleTokenScheme(minted, melted, maximum)


def _encode_basic(output: BasicOutput) -> bytes:
    conditions = output.unlock_conditions
    if len(conditions) == 1 and isinstance(condition := conditions[0], AddressCondition) and not output.native_tokens:
        plain = PLAIN_OUTPUT.pack(BasicOutput.KIND, output.amount, PLAIN, condition.address)
        return plain + encode_set(output.features, FEATURES)
    return b"".join(
        (
            _encode_head(output),
            encode_set(conditions, CONDITIONS),
            encode_set(output.features, FEATURES),
        )
    )


def _encode_alias(output: AliasOutput) -> bytes:
    metadata = output.state_metadata
    return b"".join(
        (
            _encode_head(output),
            ALIAS_HEAD.pack(output.alias_id, output.state_index, len(metadata)),
            metadata,
            U32.pack(output.foundry_counter),
            encode_set(output.unlock_conditions, CONDITIONS),
            encode_set(output.features, FEATURES),
            encode_set(output.immutable_features, FEATURES),
        )
    )


def _encode_foundry(output: FoundryOutput) -> bytes:
    return b"".join(
        (
            _encode_head(output),
            U32.pack(output.serial_number),
            _encode_simple_scheme(output.token_scheme),
            encode_set(output.unlock_conditions, CONDITIONS),
            encode_set(output.features, FEATURES),
            encode_set(output.immutable_features, FEATURES),
        )
    )


def _encode_nft(output: NftOutput) -> bytes:
    return b"".join(
        (
            _encode_head(output),
            output.nft_id,
            encode_set(output.unlock_conditions, CONDITIONS),
            encode_set(output.features, FEATURES),
            encode_set(output.immutable_features, FEATURES),
        )
    )


def _encode_head(output: TransferOutput) -> bytes:
    tokens = output.native_tokens
    head = OUTPUT_HEAD.pack(output.KIND, output.amount, len(tokens))
    if not tokens:
        return head
    return head + b"".join([NATIVE_TOKEN.pack(each.token_id, each.amount.to_bytes(32, "little")) for each in tokens])


def _encode_simple_scheme(scheme: SimpleTokenScheme) -> bytes:
    amounts = (scheme.minted, scheme.melted, scheme.maximum)
    return TOKEN_SCHEME.pack(SimpleTokenScheme.KIND, *[each.to_bytes(32, "little") for each in amounts])


TOKEN_SCHEMES: Kinds = {0: Kind("simple", SimpleTokenScheme, _decode_simple_scheme, _encode_simple_scheme)}
TRANSFER_OUTPUTS: Kinds = {
    3: Kind("basic", BasicOutput, _decode_basic, _encode_basic),
    4: Kind("alias", AliasOutput, _decode_alias, _encode_alias),
    5: Kind("foundry", FoundryOutput, _decode_foundry, _encode_foundry),
    6: Kind("NFT", NftOutput, _decode_nft, _encode_nft),
}


def _only(kinds: Kinds, *tags: int) -> Kinds:
    return {tag: kinds[tag] for tag in tags}


# The types allowed in each output. Basic outputs and NFTs have the same conditions and features.
BASIC_CONDITIONS = _only(CONDITIONS, 0, 1, 2, 3)
ALIAS_CONDITIONS = _only(CONDITIONS, 4, 5)
FOUNDRY_CONDITIONS = _only(CONDITIONS, 6)
BASIC_FEATURES = _only(FEATURES, 0, 2, 3)
ALIAS_FEATURES = _only(FEATURES, 0, 2)
FOUNDRY_FEATURES = _only(FEATURES, 2)
CHAIN_FEATURES = _only(FEATURES, 1, 2)
