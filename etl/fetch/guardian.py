"""The REST API of a guardian, or of another permanode with the same routes: one signed message, the current set.

Responses are not trusted: a message is bytes that contain their own id and signatures.
"""

import base64
import re
from dataclasses import dataclass
from typing import Any

from etl.fetch.http import UNREADABLE, Fault, Http
from ledger.json_reader import U32, JsonError, uint
from ledger.wormhole.addresses import parse_address
from ledger.wormhole.chains import find_chain, find_chain_named

ADDRESS_DIGITS = 40

MAX_CHAIN = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Emitter:
    """The emitter whose messages are fetched. `address` has 32 bytes."""

    chain: int
    address: bytes

    @classmethod
    def parse(cls, text: str) -> "Emitter":
        """Parses CHAIN/ADDRESS: the chain by number or name, the address in 64 hex digits or in the chain's format.
        Raises ValueError.
        """
        name, _, address = text.partition("/")
        known = find_chain(int(name)) if re.fullmatch("[0-9]{1,5}", name) else find_chain_named(name)
        if known is None or known.id > MAX_CHAIN or not address:
            raise ValueError(
                f"{text!r}: expected CHAIN/ADDRESS, as 2/{'0' * 24}3ee18b2214aff97000d974cf647e7c347e8fa585"
            )
        return cls(known.id, parse_address(known.id, address))


class Guardian:
    """A guardian or gateway, identified by the URL before `/v1`."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.url = http.url.removesuffix("/v1")

    async def signed_vaa(self, emitter: Emitter, sequence: int) -> bytes:
        """The stored bytes of an id, unverified. Raises a Fault of kind NOT_THERE if there are none."""
        url = f"{self.url}/v1/signed_vaa/{emitter.chain}/{emitter.address.hex()}/{sequence}"
        found = (await self._http.json(url)).get("vaaBytes")
        try:
            if isinstance(found, str):
                return base64.b64decode(found, validate=True)
        except ValueError:
            pass
        raise Fault(UNREADABLE, f"{url}: vaaBytes in base64 expected, found {str(found)[:40]!r}")

    async def current_set(self) -> tuple[int, tuple[bytes, ...]] | None:
        """Index and addresses of the guardian set that the server considers current; None if it does not report one."""
        url = f"{self.url}/v1/guardianset/current"
        try:
            found = await self._http.json(url, "guardianSet")
        except Fault as fault:
            if fault.is_for_good:
                return None
            raise
        try:
            return uint(found, "index", U32, 0), tuple(map(_address, found.get("addresses") or ()))
        except (JsonError, TypeError, ValueError) as error:
            raise Fault(UNREADABLE, f"{url}: {error}") from None


def _address(text: Any) -> bytes:
    digits = str(text).removeprefix("0x")
    if len(digits) != ADDRESS_DIGITS:
        raise ValueError(f"addresses: 40 hex digits expected, found {text!r}")
    return bytes.fromhex(digits)
