"""Responses whose lists are rendered while they are read have the bytes of those that are rendered at once."""

from itertools import chain

import orjson
import pytest

from api.http.rendered import PLACE, PartlyRendered, RenderedList, rendered


@pytest.mark.parametrize(
    ("created", "consumed"),
    [
        ([], []),
        ([["a"]], []),
        ([[], ["a", 'b"\\'], [], ["é"]], [["c"], ["d", "e"]]),
        ([["[", "]", ","]], [[PLACE[:-1]]]),
    ],
)
async def test_lists_are_where_they_belong(created: list[list[str]], consumed: list[list[str]]) -> None:
    lists = {"created": RenderedList(), "consumed": RenderedList()}
    for name, parts in (("created", created), ("consumed", consumed)):
        for part in parts:
            lists[name].extend(part)
    found = await PartlyRendered({"index": 7}, **lists).body(lambda value: orjson.dumps({"data": value, "last": 1}))
    wanted = {"index": 7, "created": [*chain(*created)], "consumed": [*chain(*consumed)]}
    assert found == orjson.dumps({"data": wanted, "last": 1})


async def test_other_requests_go_on_between_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    given_way = []

    async def give_way() -> None:
        given_way.append(True)

    monkeypatch.setattr("api.http.rendered.give_way", give_way)
    long = RenderedList()
    for number in range(5):
        long.extend([number] * 3)
    found = await PartlyRendered({}, long=long).body(orjson.dumps)
    assert orjson.loads(found) == {"long": [number for number in range(5) for _ in range(3)]}
    assert len(given_way) == 5


def test_a_rendered_value_is_copied() -> None:
    assert orjson.dumps({"a": rendered({"b": 1.5})}) == b'{"a":{"b":1.5}}'
