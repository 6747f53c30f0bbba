"""`permanode fsck` of a store while a load replaces its generation."""

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from db import schema
from db.connect import StoreSettings, open_adapter
from db.damage import Damage
from db.sqlite.building import PAGE_BYTES
from db.sqlite.checksums import connect
from db.store import StoreUnavailable
from tests.db.stores import CHUNK_SIZE, flip, generation_of, reopened

BODIES = [bytes([number]) * 3_000 for number in range(50)]

POINTS = ["gen-", "pending_messages"]
"""What is read when a load replaces the generation: its pages, which come first, and the last table that is hashed."""


@pytest.fixture
def settings(sqlite_settings: StoreSettings) -> StoreSettings:
    """A store with a few pages of messages."""
    rows = [(hashlib.blake2b(body, digest_size=32).digest(), body) for body in BODIES]
    with closing(reopened(sqlite_settings)) as store, store.batch(publish=True) as batch:
        for table in (schema.messages, schema.pending_messages):
            batch.upsert(table, ("message_id", "message"), rows)
    return sqlite_settings


@pytest.fixture
def folder(settings: StoreSettings) -> Path:
    return Path(settings.url.removeprefix("sqlite:///"))


def replace_generation(settings: StoreSettings) -> None:
    """As a load or a rebuild does: without rows that cannot be read."""
    with closing(reopened(settings)) as store, store.batch(publish=True, leave_out=lambda _: None):
        pass


def check(settings: StoreSettings, at: str = "nothing") -> tuple[list[Damage], list[str]]:
    """The damage that a check finds, and what it read. The generation is replaced once, when it reads `at`."""
    read = list[str]()

    def checked(what: str, *_: object) -> None:
        read.append(what)
        if [each.startswith(at) for each in read].count(True) == 1 and what.startswith(at):
            replace_generation(settings)

    with closing(open_adapter(settings, writable=False)) as store:
        return list(store.check(CHUNK_SIZE, checked)), read


def damage_messages(folder: Path) -> None:
    """Damages a page with messages."""
    with closing(connect(generation_of(folder))) as connection:
        page = connection.execute("SELECT max(pageno) FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf'").get
    flip(generation_of(folder), (int(page) * PAGE_BYTES - 5_000) * 8)


def noted(settings: StoreSettings) -> str | None:
    with closing(open_adapter(settings, writable=False)) as store:
        return store.damage()


@pytest.mark.parametrize("at", POINTS)
def test_an_intact_generation_that_is_replaced_while_it_is_checked(
    settings: StoreSettings, folder: Path, at: str
) -> None:
    found, read = check(settings, at)
    assert found == []
    assert generation_of(folder).name == "gen-000003.sqlite"
    assert read[-1] == "pending_messages"
    assert noted(settings) is None


@pytest.mark.parametrize("at", POINTS)
def test_damage_of_a_generation_that_is_replaced_while_it_is_checked_does_not_count(
    settings: StoreSettings, folder: Path, at: str
) -> None:
    damage_messages(folder)
    found, read = check(settings, at)
    assert found == []
    assert noted(settings) is None
    assert {"gen-000002.sqlite", "gen-000003.sqlite"} <= {*read}


def test_damage_of_the_served_generation_is_noted_until_a_check_finds_none(
    settings: StoreSettings, folder: Path
) -> None:
    intact = generation_of(folder).read_bytes()
    damage_messages(folder)
    found, _ = check(settings)
    assert {each.table for each in found} == {"messages"}
    assert noted(settings) == "messages: the page differs from its checksum"
    generation_of(folder).write_bytes(intact)
    assert check(settings)[0] == []
    assert noted(settings) is None


def test_a_check_ends_if_the_served_generation_is_missing(settings: StoreSettings, folder: Path) -> None:
    generation_of(folder).unlink()
    with pytest.raises(StoreUnavailable, match=r"gen-000002\.sqlite"):
        check(settings)
