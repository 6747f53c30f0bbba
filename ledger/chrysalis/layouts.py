"""Binary layouts of Chrysalis objects: fields of fixed size in sequence, for encoders and decoders.

Comments beside each Struct list its fields. Integers are little-endian. A type is a u8, a payload's type a u32.
"""

from struct import Struct

U8 = Struct("<B")
U16 = Struct("<H")
U32 = Struct("<I")
U64 = Struct("<Q")

MESSAGE_HEAD = Struct("<QB")  # network id, parents count
INDEXATION_HEAD = Struct("<IH")  # type, index length
TRANSACTION_HEAD = Struct("<IBH")  # type, essence type, inputs count
UTXO_INPUT = Struct("<B32sH")  # type, transaction id, output index
TRANSFER_OUTPUT = Struct("<B33sQ")  # type, address, amount
SIGNATURE_UNLOCK = Struct("<BB32s64s")  # type, signature type, public key, signature
REFERENCE_UNLOCK = Struct("<BH")  # type, index of the referenced unlock block

MILESTONE_HEAD = Struct("<IIQB")  # type, index, timestamp, parents count
MILESTONE_MIDDLE = Struct("<32sIIB")  # inclusion Merkle proof, next PoW score, its milestone, public keys count
RECEIPT_HEAD = Struct("<IIBH")  # type, migratedAt, final, funds count
MIGRATED_FUNDS = Struct("<49s33sQ")  # tail transaction hash (t5b1), address, deposit
TREASURY_INPUT = Struct("<B32s")  # type, milestone id
TREASURY_OUTPUT = Struct("<BQ")  # type, amount
