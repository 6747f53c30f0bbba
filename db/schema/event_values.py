"""Values of the event tables' columns as text, and the key by which messages are looked up by such a value."""

import base64
import hashlib

from db.schema.event_columns import FAMILY_COLUMNS, FamilyColumn
from db.utc_days import format_time

KEY_BYTES = 16

MISSPELLED = {"TargetAdress": "TargetAddress"}

COLUMN_OF: dict[str, FamilyColumn] = {
    each.column: each for each in FAMILY_COLUMNS.values() if each.qualifier not in MISSPELLED
}
"""By the name of the column in this schema."""


def value_text(spec: FamilyColumn, value: object) -> str:
    """A stored value as the event functions return it: times as Go writes them, bytes in base64."""
    if isinstance(value, bytes):
        return value.hex() if spec.form == "hex" else base64.b64encode(value).decode()
    return format_time(value) if spec.form == "time" and isinstance(value, int) else str(value)


def value_key(family: str, qualifier: str, text: str) -> str:
    """The key of kind `value` in vaa_lookups of a column and its value: a hash, because values can be long."""
    named = f"{family}:{MISSPELLED.get(qualifier, qualifier)}\0{text}"
    return hashlib.blake2b(named.encode(), digest_size=KEY_BYTES).hexdigest()
