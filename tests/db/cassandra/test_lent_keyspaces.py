"""Tests share the keyspaces of their server: what one gets again is what `migrate` creates."""

from contextlib import closing
from typing import Any

from db import schema
from db.connect import StoreSettings, open_adapter, open_store
from db.schema.migration_files import migrations
from db.schema.protocols import IOTA, TABLES_OF
from tests.cassandra_keyspace import Keyspaces


def rows(settings: StoreSettings) -> dict[str, list[dict[str, Any]]]:
    """All rows by table, without the times of migrations."""
    with closing(open_adapter(settings, writable=False)) as store:
        found = {table.name: [dict(row) for row in store.read_all(table)] for table in TABLES_OF[settings.protocol]}
    for row in found["migrations"]:
        del row["applied_at"]
    return {table: sorted(each, key=str) for table, each in found.items()}


def test_a_keyspace_that_is_lent_again_is_a_new_store(keyspaces: Keyspaces) -> None:
    first = keyspaces.lend(StoreSettings("", "before-1", 7, 3, bech32_hrp="atoi"))
    created = rows(first)
    with closing(open_store(first, writable=True)) as store, store.batch() as batch:
        batch.upsert(schema.milestone_ids, ("milestone_id", "milestone_index"), [(b"\xab" * 32, 1)])
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, [("engine", "sail")])
    assert rows(first) != created

    keyspaces.give_back(first)
    second = keyspaces.lend(StoreSettings("", "after-1", 9, 5))
    assert second.url == first.url
    expected = created | {
        "keyspace_info": sorted(({"name": name, "value": value} for name, value in second.info().items()), key=str),
        "migrations": [row | {"network": "after-1"} for row in created["migrations"]],
    }
    assert rows(second) == expected
    assert {row["name"] for row in expected["migrations"]} == {each.name for each in migrations("cql", IOTA)}
    keyspaces.give_back(second)


def test_keyspaces_of_another_protocol_or_still_in_use_are_not_lent(keyspaces: Keyspaces) -> None:
    lent = [keyspaces.lend(StoreSettings("", name)) for name in ("before-1", "wormhole-mainnet")]
    assert lent[0].url != lent[1].url
    assert rows(lent[1])["keyspace_info"]
    for each in lent:
        keyspaces.give_back(each)
