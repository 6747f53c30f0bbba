"""Stardust protocol parameters as bytes, values and JSON, and the checks that need them (TIP-19, TIP-20, TIP-22).

No network's parameters are built in. They come from a node's info, a snapshot, or a milestone's protocol parameters
option.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Any

from ledger import ids
from ledger.json_reader import U32 as MAX_U32
from ledger.json_reader import U64 as MAX_U64
from ledger.json_reader import JsonError, member, nested, uint, uint_text
from ledger.reader import CodecError, Reader
from ledger.stardust.outputs import encode_output
from ledger.stardust.values import AddressCondition, BasicOutput, Essence, StorageDepositReturn

_MAX_U8 = 0xFF
_OUTPUT_ID_BYTES = 34
_METADATA_BYTES = 32 + 4 + 4
"""Bytes that a node stores beside an output: block id, and index and timestamp of the milestone that booked it."""

_TEXT_HEAD = Struct("<B")  # length
_VERSION = Struct("<B")
_NUMBERS = Struct("<IBIBBQ")  # min PoW score, below max depth, v-byte cost, factors of data and key, token supply


@dataclass(frozen=True, slots=True)
class ProtocolParameters:
    """The protocol parameters that apply in a network from some milestone."""

    version: int
    network_name: str
    bech32_hrp: str
    min_pow_score: int
    below_max_depth: int
    v_byte_cost: int
    v_byte_factor_data: int
    v_byte_factor_key: int
    token_supply: int


def decode_parameters(data: bytes) -> ProtocolParameters:
    """Decodes the parameters in a milestone's option. Raises CodecError, also for trailing bytes."""
    reader = Reader(data)
    (version,) = reader.unpack(_VERSION, "protocol version")
    name, hrp = _decode_text(reader, "network name"), _decode_text(reader, "Bech32 human-readable part")
    numbers = reader.unpack(_NUMBERS, "PoW score, depth, rent structure and token supply")
    reader.finish()
    return ProtocolParameters(version, name, hrp, *numbers)


def encode_parameters(parameters: ProtocolParameters) -> bytes:
    """Encodes the `params` of a milestone's option."""
    name, hrp = parameters.network_name.encode(), parameters.bech32_hrp.encode()
    return b"".join(
        (
            _VERSION.pack(parameters.version),
            _TEXT_HEAD.pack(len(name)),
            name,
            _TEXT_HEAD.pack(len(hrp)),
            hrp,
            _NUMBERS.pack(
                parameters.min_pow_score,
                parameters.below_max_depth,
                parameters.v_byte_cost,
                parameters.v_byte_factor_data,
                parameters.v_byte_factor_key,
                parameters.token_supply,
            ),
        )
    )


def _decode_text(reader: Reader, expected: str) -> str:
    (length,) = reader.unpack(_TEXT_HEAD, expected)
    start = reader.offset
    try:
        return reader.take(length, expected).decode()
    except UnicodeDecodeError:
        raise CodecError(start, f"{expected} in UTF-8") from None


def parameters_json(parameters: ProtocolParameters) -> dict[str, Any]:
    """Renders the object `protocol` of GET info, in Hornet's form."""
    return {
        "version": parameters.version,
        "networkName": parameters.network_name,
        "bech32Hrp": parameters.bech32_hrp,
        "minPowScore": parameters.min_pow_score,
        "belowMaxDepth": parameters.below_max_depth,
        "rentStructure": {
            "vByteCost": parameters.v_byte_cost,
            "vByteFactorData": parameters.v_byte_factor_data,
            "vByteFactorKey": parameters.v_byte_factor_key,
        },
        "tokenSupply": str(parameters.token_supply),
    }


def parse_parameters_json(value: Any) -> ProtocolParameters:
    """Parses an object `protocol`. Raises JsonError."""
    cost, data, key = nested(value, "rentStructure", _parse_rent)
    return ProtocolParameters(
        uint(value, "version", _MAX_U8),
        _parse_text(value, "networkName"),
        _parse_text(value, "bech32Hrp"),
        uint(value, "minPowScore", MAX_U32),
        uint(value, "belowMaxDepth", _MAX_U8),
        cost,
        data,
        key,
        uint_text(value, "tokenSupply", MAX_U64),
    )


def _parse_rent(value: Any) -> tuple[int, int, int]:
    return (
        uint(value, "vByteCost", MAX_U32),
        uint(value, "vByteFactorData", _MAX_U8),
        uint(value, "vByteFactorKey", _MAX_U8),
    )


def _parse_text(value: Any, key: str) -> str:
    text = member(value, key)
    if type(text) is not str or len(text.encode()) > _MAX_U8:
        raise JsonError(key, f"a text of at most {_MAX_U8} bytes")
    return text


def storage_deposit(output_bytes: bytes, parameters: ProtocolParameters) -> int:
    """The minimum amount of an encoded output: the cost of its virtual bytes (TIP-19)."""
    data = (_METADATA_BYTES + len(output_bytes)) * parameters.v_byte_factor_data
    return parameters.v_byte_cost * (data + _OUTPUT_ID_BYTES * parameters.v_byte_factor_key)


def find_violation(essence: Essence, parameters: ProtocolParameters) -> str | None:
    """Why a node with these parameters rejects a well-formed transaction (field, expected, found); None if it accepts
    it.
    """
    network_id = ids.network_id(parameters.network_name)
    if essence.network_id != network_id:
        return f"networkId: expected {network_id} ({parameters.network_name}), found {essence.network_id}"
    total = sum(each.amount for each in essence.outputs)
    if total > parameters.token_supply:
        return f"outputs: expected amounts of at most {parameters.token_supply} together, found {total}"
    for index, output in enumerate(essence.outputs):
        least = storage_deposit(encode_output(output), parameters)
        if output.amount < least:
            return f"outputs[{index}].amount: expected at least the storage deposit of {least}, found {output.amount}"
        for each in output.unlock_conditions:
            if isinstance(each, StorageDepositReturn):
                plain = BasicOutput(each.amount, (), (AddressCondition(each.return_address),), ())
                least = storage_deposit(encode_output(plain), parameters)
                if each.amount < least:
                    return (
                        f"outputs[{index}]: expected a storage deposit return of at least {least}, found {each.amount}"
                    )
    return None
