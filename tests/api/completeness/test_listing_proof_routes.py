"""Proofs of listings over HTTP, compared with documents from whole trees in memory."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from api.app import ApiSettings, create_app
from api.network import NetworkMount
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter, open_store
from db.store import WritableStore
from ledger.completeness.check import LogHead, check_document
from ledger.crypto.bech32 import format_address
from ledger.transparency.checkpoint import Checkpoint, open_checkpoint
from ledger.transparency.keys import SigningKey
from tests.db.stored_listings import (
    END,
    FIRST,
    FRONTIER,
    MISSING,
    ROWS,
    TAGS,
    UPDATES,
    family_of,
    place_of,
    shown,
    write_archive,
    write_log,
)
from tests.db.stores import CHUNK_SIZE
from tests.ledger.completeness.ledgers import Archive

KEY = SigningKey("permanode/permatest-1/3", bytes(range(32)))
PATH = "/api/permatest-1/proofs/listing"


@pytest.fixture(scope="module")
def archive() -> Archive:
    return Archive(ROWS, FIRST, FRONTIER)


def made(folder: Path, archive: Archive, key: SigningKey | None) -> tuple[StoreSettings, Checkpoint]:
    settings = StoreSettings(url=f"sqlite:///{folder}", network=archive.network, chunk_size=CHUNK_SIZE)
    migrate(settings)
    with closing(open_adapter(settings, writable=True)) as store:
        write_archive(store, archive)
        return settings, write_log(store, archive, key)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, archive: Archive) -> tuple[StoreSettings, Checkpoint]:
    return made(tmp_path_factory.mktemp("signed"), archive, KEY)


@pytest.fixture
def client(signed: tuple[StoreSettings, Checkpoint]) -> Iterator[httpx.AsyncClient]:
    with closing(open_store(signed[0])) as store:
        yield client_of(store)


def client_of(store: WritableStore) -> httpx.AsyncClient:
    app = create_app({"permatest-1": NetworkMount(store, "permatest-1", "atoi")}, "permatest-1", ApiSettings())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


def query(place: bytes, **more: object) -> dict[str, str]:
    family = family_of(place)
    assert family is not None
    return {"family": family.name, "key": place[1:].hex(), **{name: str(value) for name, value in more.items()}}


async def test_documents_verify_with_the_signed_checkpoint(
    client: httpx.AsyncClient, archive: Archive, signed: tuple[StoreSettings, Checkpoint]
) -> None:
    head = LogHead(signed[1].size, signed[1].root)
    for place in [*list(ROWS)[:8], *MISSING]:
        for index, count in ((0, 100), (20, 7), (300, 50)):
            if index and index >= len(shown(place)):
                continue
            answer = await client.get(PATH, params=query(place, offset=index, pageSize=count))
            assert answer.status_code == 200, answer.text
            note = answer.json()["checkpoint"]
            unsigned = archive.document(place, END, index, count)
            # The archive in memory has the same log, under another signature.
            assert answer.content == unsigned.replace(
                archive.checkpoint.replace("\n", "\\n").encode(), note.replace("\n", "\\n").encode()
            )
            assert check_document(answer.content, "permatest-1", head).is_valid
            assert open_checkpoint(note.encode(), "permanode/permatest-1/3", KEY.verifier).checkpoint == signed[1]


async def test_all_pages_together_have_all_rows(client: httpx.AsyncClient) -> None:
    place = place_of(TAGS, b"turns")
    rows: list[str] = []
    while len(rows) < len(shown(place)):
        page = (await client.get(PATH, params=query(place, offset=len(rows), pageSize=97))).json()
        assert page["total"] == len(shown(place))
        rows += page["rows"]
    assert [b64decode(each) for each in rows] == shown(place)


async def test_an_earlier_end_is_served_while_its_trees_are_kept(client: httpx.AsyncClient, archive: Archive) -> None:
    place = place_of(TAGS, b"hot")
    earlier = await client.get(PATH, params=query(place, to=1_999, pageSize=1))
    unsigned = json.loads(archive.document(place, 1_999, 0, 1))
    assert earlier.json() == {**unsigned, "checkpoint": earlier.json()["checkpoint"]}
    oldest = await client.get(PATH, params=query(place, to=1_899, pageSize=1))
    assert oldest.status_code == 404
    assert "the leaves of the tree of milestones 1600 to 1699" in oldest.json()["error"]["message"]


async def test_an_address_is_also_accepted_in_bech32(client: httpx.AsyncClient) -> None:
    place = place_of(UPDATES, b"\0" + b"\7" * 32)
    bech32 = format_address("atoi", place[1:])
    one, other = [
        await client.get(PATH, params={**query(place), "key": key}) for key in (bech32, f"0x{place[1:].hex().upper()}")
    ]
    assert one.status_code == 200
    assert one.content == other.content
    assert one.headers["cache-control"] == "no-cache"
    again = await client.get(PATH, params=query(place), headers={"if-none-match": one.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"family": "messages_by_color"}, "family"),
        ({"key": "abc"}, "key"),
        ({"key": "00" * 65}, "a key of messages_by_tag: 0 to 64 bytes as hex"),
        ({"family": "messages_by_parent"}, "a key of messages_by_parent: 32 bytes as hex"),
        ({"family": "transactions_by_address"}, "33 bytes as hex, or a bech32 address"),
        (
            {"family": "transactions_by_address", "key": format_address("atoi", bytes(33))[:-1] + "b"},
            "(expected characters of the Bech32 alphabet, found 'b')",
        ),
        ({"offset": "2000"}, "a number below 1"),
        ({"offset": "-1"}, "offset"),
        ({"pageSize": "0"}, "pageSize"),
        ({"pageSize": "1001"}, "pageSize"),
        ({"to": "2098"}, "the last milestone of 100 in the signed log, from 99 to 2099"),
        ({"to": "2199"}, "the last milestone of 100 in the signed log, from 99 to 2099"),
        ({"proof": "complete"}, "proof"),
    ],
)
async def test_parameters_that_no_listing_has_are_rejected(
    client: httpx.AsyncClient, given: dict[str, str], message: str
) -> None:
    place = place_of(TAGS, b"once")
    answer = await client.get(PATH, params={**query(place), **given})
    assert answer.status_code == 400, answer.text
    assert message in answer.json()["error"]["message"]


async def test_an_archive_that_nobody_signed_proves_nothing(tmp_path: Path, archive: Archive) -> None:
    settings, _ = made(tmp_path / "store", archive, None)
    with closing(open_store(settings)) as store:
        answer = await client_of(store).get(PATH, params=query(place_of(TAGS, b"once")))
    assert (answer.status_code, "a signed checkpoint of the log" in answer.text) == (404, True)


async def test_without_cosignatures_a_cosigned_proof_is_not_found(client: httpx.AsyncClient) -> None:
    answer = await client.get(PATH, params=query(place_of(TAGS, b"once"), cosigned="true"))
    assert (answer.status_code, "a cosigned checkpoint of the log" in answer.text) == (404, True)
