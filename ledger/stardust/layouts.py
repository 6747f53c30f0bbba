"""Binary layouts of Stardust objects: fields of fixed size in sequence, for encoders and decoders.

Comments beside each Struct list its fields. Integers are little-endian, u256 have 32 bytes. A type is a u8, a payload's
type a u32.
"""

from struct import Struct

U8 = Struct("<B")
U16 = Struct("<H")
U32 = Struct("<I")
U64 = Struct("<Q")

BLOCK_HEAD = Struct("<BB")  # protocol version, parents count
TAGGED_DATA_HEAD = Struct("<IB")  # type, tag length
TRANSACTION_HEAD = Struct("<IBQH")  # type, essence type, network id, inputs count
ESSENCE_HEAD = Struct("<BQH")  # type, network id, inputs count
ESSENCE_MIDDLE = Struct("<32sH")  # inputs commitment, outputs count
UTXO_INPUT = Struct("<B32sH")  # type, transaction id, output index
SIGNATURE_UNLOCK = Struct("<BB32s64s")  # type, signature type, public key, signature
REFERENCE_UNLOCK = Struct("<BH")  # type, index of the referenced unlock; also for alias and NFT unlocks

OUTPUT_HEAD = Struct("<BQB")  # type, amount, native tokens count
NATIVE_TOKEN = Struct("<38s32s")  # token id, amount
# Basic outputs that are an amount for an address, as nearly all are, up to their features: type, amount, PLAIN, address
PLAIN_OUTPUT = Struct("<BQ3s33s")
PLAIN = bytes((0, 1, 0))  # native tokens count, conditions count, condition type
PLAIN_AT = 9  # where PLAIN is
ALIAS_HEAD = Struct("<32sIH")  # alias id, state index, state metadata length
TOKEN_SCHEME = Struct("<B32s32s32s")  # type, minted, melted, maximum supply
ADDRESS_ITEM = Struct("<B33s")  # type, address: unlock conditions and features that are an address
DEPOSIT_RETURN = Struct("<B33sQ")  # type, return address, amount
TIMELOCK = Struct("<BI")  # type, unix time
EXPIRATION = Struct("<B33sI")  # type, return address, unix time
METADATA_HEAD = Struct("<BH")  # type, length
TAG_HEAD = Struct("<BB")  # type, length

MILESTONE_HEAD = Struct("<IIIB32sB")  # type, index, timestamp, protocol version, previous id, parents count
MILESTONE_MIDDLE = Struct("<32s32sH")  # inclusion Merkle root, applied Merkle root, metadata length
SIGNATURE = Struct("<B32s64s")  # type, public key, signature
RECEIPT_HEAD = Struct("<BIBH")  # type, migratedAt, final, funds count
PARAMETERS_HEAD = Struct("<BIBH")  # type, target milestone index, protocol version, length
MIGRATED_FUNDS = Struct("<49s33sQ")  # tail transaction hash (t5b1), address, deposit
TREASURY_INPUT = Struct("<B32s")  # type, milestone id
TREASURY_OUTPUT = Struct("<BQ")  # type, amount
