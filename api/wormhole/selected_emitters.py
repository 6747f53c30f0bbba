"""What a selective archive returns: every response is about the selected emitters and governance, and says so."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, wraps
from typing import Any

from api.http.operations import Family, Handler
from api.network import NetworkMount
from api.wormhole.events.params import EMITTER_ADDRESS, EMITTER_CHAIN
from db.coverage import check_emitter, missing
from db.store import NotFound, NotKeptHere
from ledger.selection import EMITTER, Filter
from ledger.wormhole.addresses import NativeAddressError, parse_emitter


def of_selected_emitters(family: Family) -> Family:
    """Returns a family whose responses name the selected emitters in a header. Its handlers raise NotKeptHere for
    messages of other emitters.
    """
    operations = [
        replace(each, handler=_checked(each.handler), alias_of=each.alias_of and _checked(each.alias_of))
        for each in family.operations
    ]
    return replace(family, operations=tuple(operations))


@cache
def _checked(handler: Handler) -> Handler:
    @wraps(handler)
    async def serve(network: NetworkMount, **given: Any) -> Any:
        emitter = emitter_of(network, given)
        try:
            answer = await handler(network, **given)
        except NotKeptHere:
            raise
        except NotFound as error:
            raise await missing(network.store, str(error), emitter) from None
        await check_emitter(network.store, emitter)
        return answer

    return serve


def emitter_of(network: NetworkMount, given: Mapping[str, Any]) -> Filter | None:
    """Returns the emitter that a request names. None: it names no emitter, or a text that its chain does not have."""
    of_events = given.get("given", {})
    chain = given.get("chain", of_events.get(EMITTER_CHAIN.name))
    emitter = given.get("emitter", of_events.get(EMITTER_ADDRESS.name))
    if emitter is None or chain is None:
        return None
    try:
        return Filter(EMITTER, parse_emitter(network.wormhole or "", chain, emitter), chain)
    except NativeAddressError:
        return None
