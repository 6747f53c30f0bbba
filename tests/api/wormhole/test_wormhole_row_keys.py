"""Rows by ranges of their keys, compared with the sorted keys of the records; GET and POST."""

from typing import Any

import httpx
import pytest

from tests.api.conftest import Some
from tests.api.wormhole.test_wormhole_events import both, row_of
from tests.api.wormhole_network import UNSIGNED, WRITTEN, World

Json = dict[str, Any]


def ordered(world: World) -> list[tuple[str, str, int]]:
    """Every message as (chain with colon, address, sequence), in the order of the event tables."""
    keys = [*world.canonical, UNSIGNED, WRITTEN]
    parts = [key.split(":") for key in keys]
    return sorted((f"{chain}:", address, int(sequence)) for chain, address, sequence in parts)


def key_of(place: tuple[str, str, int]) -> str:
    return f"{place[0]}{place[1]}:{place[2]:016d}"


async def rows_of(client: httpx.AsyncClient, size: int, **given: str) -> list[Json]:
    found, cursor = [], ""
    while True:
        page = await both(client, "readrows", **given, numRows=str(size), **({"cursor": cursor} if cursor else {}))
        assert "Rows" in page, page
        found += page["Rows"]
        cursor = page["Next"]
        if not cursor:
            return found


async def keys_of(client: httpx.AsyncClient, size: int = 100, **given: str) -> list[str]:
    return [row["RowKey"] for row in await rows_of(client, size, **given, families="MessagePublication")]


@pytest.mark.thorough
@pytest.mark.parametrize("size", [3, 100])
async def test_keys_between_a_start_and_an_end(signed: httpx.AsyncClient, world: World, size: int) -> None:
    places = ordered(world)
    count = len(places)
    assert len({chain for chain, _, _ in places}) > 5
    # Chain 10 precedes chain 1, as in a text.
    assert next(each for each in places if each[0] in ("1:", "10:"))[0] == "10:"
    for first, last in ((0, count - 1), (count // 3, count // 2), (5, 6), (count // 2, count // 2)):
        expected = [key_of(each) for each in places[first:last]]
        start, end = key_of(places[first]), key_of(places[last])
        assert await keys_of(signed, size, startKey=start, endKey=end) == expected
    assert await keys_of(signed, size) == [key_of(each) for each in places]
    middle = count // 2
    assert await keys_of(signed, size, startKey=key_of(places[middle])) == [key_of(each) for each in places[middle:]]
    assert await keys_of(signed, size, endKey=key_of(places[middle])) == [key_of(each) for each in places[:middle]]
    # Small pages are tested above.
    for chain, address, _ in places[:: max(1, count // 5)] if size > 10 else ():
        partial = f"{chain}{address[:5]}"
        assert await keys_of(signed, size, startKey=partial) == [
            key_of(each) for each in places if f"{each[0]}{each[1]}" >= partial
        ]
        assert await keys_of(signed, size, endKey=f"{chain}{address}") == [
            key_of(each) for each in places if each[:2] < (chain, address)
        ]


async def test_rows_of_a_range_are_whole(signed: httpx.AsyncClient, world: World) -> None:
    places = [each for each in ordered(world) if world.canonical.get(key_of(each))]
    verified = [each for each in places if world.canonical[key_of(each)].served["quorum"]][:8]
    for place in verified:
        message = world.canonical[key_of(place)]
        (row,) = await rows_of(signed, 5, startKey=key_of(place), endKey=f"{place[0]}{place[1]}:{place[2] + 1}")
        whole = row_of(world, message) | {"EmitterChain": message.served["emitter_chain_name"]}
        assert {name: row[name] for name in whole} == whole
        assert row["RowKey"] == key_of(place)


async def test_keys_by_any_beginning(signed: httpx.AsyncClient, world: World, some: Some[str]) -> None:
    places = ordered(world)
    keys = [key_of(each) for each in places]
    prefixes = {key[:length] for key in keys[::9] for length in (len(key.split(":")[0]) + 1, 8, 40, 67, 70, 75, 83, 90)}
    prefixes = {each for each in prefixes if ":" in each}
    tried = 0
    for prefix in some(sorted(prefixes)):
        expected = [key for key in keys if key.startswith(prefix)]
        assert await keys_of(signed, prefix=prefix) == expected, prefix
        tried += len(expected) > 0
    assert tried > 3


async def test_keys_of_a_contract_and_of_its_sequences(signed: httpx.AsyncClient, world: World) -> None:
    places = ordered(world)
    contracts: dict[tuple[str, str], list[int]] = {}
    for chain, address, sequence in places:
        contracts.setdefault((chain, address), []).append(sequence)
    busiest = sorted(contracts, key=lambda each: -len(contracts[each]))[:3]
    for chain, address in busiest:
        held = contracts[chain, address]
        given = {"emitterChain": chain[:-1], "emitterAddress": address}

        def expected(
            first: int, last: int, place: tuple[str, str] = (chain, address), held: list[int] = held
        ) -> list[str]:
            return [key_of((*place, each)) for each in held if first <= each <= last]

        assert await keys_of(signed, 2, **given) == expected(0, 2**64)
        low, high = held[len(held) // 4], held[-1 - len(held) // 4]
        assert await keys_of(signed, 2, **given, fromSequence=str(low), toSequence=str(high)) == expected(low, high)
        assert await keys_of(signed, **given, fromSequence=str(high)) == expected(high, 2**64)
        assert await keys_of(signed, **given, toSequence=str(low)) == expected(0, low)
        assert await keys_of(signed, **given, fromSequence="2", toSequence="1") == []
    chain = busiest[0][0]
    assert await keys_of(signed, emitterChain=chain[:-1]) == [key_of(each) for each in places if each[0] == chain]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"emitterChain": "1", "endKey": "1:"},
            "parameter prefix: expected one of prefix, startKey or endKey, emitterChain, found 'several of them'",
        ),
        (
            {"prefix": "1:", "startKey": "1:"},
            "parameter prefix: expected one of prefix, startKey or endKey, emitterChain, found 'several of them'",
        ),
        (
            {"emitterAddress": "ab" * 32, "prefix": "1:"},
            "parameter emitterChain: expected a chain beside emitterAddress",
        ),
        ({"emitterChain": "1", "toSequence": "1"}, "parameter emitterAddress: expected an address beside fromSequence"),
        ({"startKey": "1"}, "parameter startKey: expected CHAIN:ADDRESS:SEQUENCE or its beginning from CHAIN: on"),
        ({"prefix": "1:AB"}, "parameter prefix: expected CHAIN:ADDRESS:SEQUENCE or its beginning"),
        ({"endKey": "70000:"}, "parameter endKey: expected CHAIN:ADDRESS:SEQUENCE or its beginning"),
        ({"startKey": f"1:{'ab' * 32}:{2**64}"}, "parameter startKey: expected CHAIN:ADDRESS:SEQUENCE"),
    ],
)
async def test_keys_must_be_named_in_one_way(signed: httpx.AsyncClient, given: Json, message: str) -> None:
    found = await both(signed, "readrows", **given)
    assert (found["code"], found["message"][: len(message)]) == (3, message)


async def test_a_cursor_is_of_its_range(signed: httpx.AsyncClient, world: World) -> None:
    page = await both(signed, "readrows", startKey="1:", numRows="1")
    assert page["Next"]
    found = await both(signed, "readrows", startKey="2:", numRows="1", cursor=page["Next"])
    assert found["message"].startswith("parameter cursor: expected the cursor of the previous page of this query")
