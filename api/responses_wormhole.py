"""Answers of Wormhole's families.

Rules of this file: as in responses.py; names of the fields are the guardians' and wormholescan's, ours come after them.
"""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, Field

from api.responses import whole_example

VAA_BASE64 = (
    "AQAAAAABAHrDGygsKu7rN/M4XuDeX45CHTC55a6Lo9Q3XBx3qG53FZu2l9nEVtb4zQLCKpSxJ5tl"
    "tA1qmVfn04V0I4RaxY4wBhCsHSAAAAADAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAA"
    "AAAAAAU5AA=="
)
GUARDIAN = "0x58CC3AE5C097b213cE3c81979e1B9f9570746AA5"

Base64: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9+/]*={0,2}$")]
Guardian: TypeAlias = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{40}$")]
U16: TypeAlias = Annotated[int, Field(ge=0, le=2**16 - 1)]
U32: TypeAlias = Annotated[int, Field(ge=0, le=2**32 - 1)]
U64: TypeAlias = Annotated[int, Field(ge=0, le=2**64 - 1)]


class SignedVaa(BaseModel):
    """A signed message, as guardians publish it."""

    model_config = whole_example(vaaBytes=VAA_BASE64)
    vaaBytes: Base64


class GuardianSet(BaseModel):
    """Guardians in the order that the indices of signatures count in."""

    index: U32
    addresses: list[Guardian]


class CurrentGuardianSet(BaseModel):
    """The guardians of now."""

    model_config = whole_example(guardianSet={"index": 0, "addresses": [GUARDIAN]})
    guardianSet: GuardianSet
