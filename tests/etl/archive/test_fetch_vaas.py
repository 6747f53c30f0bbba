"""Fetching an emitter's messages from a server that has the real ones, with faults between the two.

Expected files contain the records' bytes. Whether a load accepts them is checked with the code that loads them.
"""

import base64
import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from socket import socket

import pytest
from typer.testing import CliRunner, Result

from cli import main as cli
from db.admin.migrate import migrate
from db.connect import StoreSettings, open_store
from db.intervals import of_indices, subtract
from db.schema.wormhole_tables import sequence_hints, vaas
from etl.fetch.fill import FetchSettings
from etl.fetch.guardian import Emitter
from etl.fetch.http import BAD_STATUS, BROKEN, NOT_THERE, TIMEOUT, UNPROVED, UNREADABLE, WRONG_ID
from etl.fetch.vaas import fetch_vaas, folder_of
from etl.report import Progress
from etl.wormhole.cells import read_line
from etl.wormhole.places import vaa_files
from ledger.wormhole.ids import sequence_key
from ledger.wormhole.vaa import decode_vaa, encode_vaa
from tests.etl.archive.guardian import END, FIRST, MADE, answering, expected, real_span, served
from tests.etl.archive.proxy import proxied

pytestmark = pytest.mark.thorough

QUICK = FetchSettings(timeout_s=20.0, backoff_s=0.01, tries=6, requests=4)
MAINNET = StoreSettings("", "wormhole-mainnet")


@pytest.fixture(scope="module")
def guardian() -> Iterator[str]:
    with answering() as url:
        yield url


def fetched(folder: Path) -> dict[int, bytes]:
    """Sequence → what the folder's whole files contain, read as a load reads them. Each file matches its checksum."""
    found: dict[int, bytes] = {}
    for path in vaa_files([folder]):
        first, end = map(int, path.stem.split("to"))
        data = path.read_bytes()
        reported = path.with_name(f"{path.name}.b2sum").read_text()
        assert reported == f"{blake2b(data, digest_size=32).hexdigest()}  {path.name}\n"
        cells = [cell for line in data.splitlines() for cell in read_line(line)]
        assert [cell.sequence for cell in cells] == list(range(first, end))
        found |= {cell.sequence: cell.value for cell in cells}
    return found


def sequence_in(path: str) -> int:
    return int(path.rpartition("/")[2]) if "/signed_vaa/" in path else -1


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_what_is_fetched_are_the_real_bytes_and_gaps_are_named(guardian: str, tmp_path: Path) -> None:
    emitter, first, end = real_span()
    there = expected(emitter, first, end)
    with proxied(guardian) as proxy:
        done = fetch_vaas(MAINNET, [proxy.url], emitter, tmp_path, [(first, end - 1)], QUICK)
    missing = subtract([(first, end - 1)], of_indices(there))
    assert (done.count, done.held, done.left, done.missing) == (len(there), 0, 0, missing)
    assert fetched(folder_of(tmp_path, emitter)) == there
    # Sequences below an existing message were requested twice, those above it once.
    requested = {sequence_in(path): times for path, times in proxy.requested.items()}
    assert {at: requested[at] for at in range(first, end)} == {
        at: 1 if at in there or at > max(there) else 2 for at in range(first, end)
    }
    assert dict(done.faults) == {
        NOT_THERE: sum(times for at, times in requested.items() if at not in there and at >= 0)
    }


def test_sequences_beyond_64_bits_with_a_sign_are_requested_and_named_as_they_are(
    guardian: str, tmp_path: Path
) -> None:
    emitter, highest = max(((of, at) for of, at in served() if of != MADE), key=itemgetter(1))
    assert highest >= 2**63
    done = fetch_vaas(MAINNET, [guardian], emitter, tmp_path, [(highest - 1, highest + 1)], QUICK)
    assert done.missing == [(highest - 1, highest - 1), (highest + 1, highest + 1)]
    assert [text.split(":")[0] for text in done.failures] == [str(highest - 1), str(highest + 1)]
    assert done.files == [f"{highest}to{highest + 1}.jsonl"]
    assert fetched(tmp_path) == {highest: served()[emitter, highest]}


def test_a_bad_way_gives_the_same_files_and_every_fault_is_counted(guardian: str, tmp_path: Path) -> None:
    """Each of seven faults in turn: once or twice for each message, or not at all."""
    fetch_vaas(MAINNET, [guardian], MADE, tmp_path / "good", [(FIRST, END - 1)], QUICK)
    other = json.dumps({"vaaBytes": base64.b64encode(served()[MADE, FIRST + 3]).decode()}).encode()
    seen: Counter[int] = Counter()

    def spoil(path: str, nth: int) -> str | None:
        at = sequence_in(path)
        times, kind = at % 3, ["503", "truncated", "half", "503", "truncated", None, None, "timeout"][at % 8]
        return None if at < 0 or nth > times or (kind == "timeout" and nth > 1) else kind

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        at = sequence_in(path)
        seen[at] += 1
        return (status, other) if at % 8 in (5, 6) and at % 3 and seen[at] == 1 else (status, body)

    with proxied(guardian, spoil, edit) as proxy:
        done = fetch_vaas(
            MAINNET, [proxy.url], MADE, tmp_path / "bad", [(FIRST, END - 1)], replace(QUICK, timeout_s=1.0)
        )
    assert (done.count, done.missing) == (END - FIRST, [])
    assert done.faults.keys() == {TIMEOUT, BROKEN, BAD_STATUS, UNREADABLE, WRONG_ID}
    assert fetched(tmp_path / "bad") == expected(MADE, FIRST, END)
    assert contents(tmp_path / "bad") == contents(tmp_path / "good")


def test_what_its_guardians_did_not_sign_is_never_written(guardian: str, tmp_path: Path) -> None:
    emitter, first, end = real_span()
    there = expected(emitter, first, end)
    chosen = max(there)

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if sequence_in(path) != chosen:
            return status, body
        vaa = decode_vaa(there[chosen])
        forged = replace(vaa, payload=vaa.payload[:-1] + bytes([vaa.payload[-1] ^ 1]))
        return status, json.dumps({"vaaBytes": base64.b64encode(encode_vaa(forged)).decode()}).encode()

    with proxied(guardian, edit=edit) as proxy:
        done = fetch_vaas(MAINNET, [proxy.url], emitter, tmp_path, [(chosen, chosen)], QUICK)
        assert (done.count, done.missing, dict(done.faults)) == (0, [(chosen, chosen)], {UNPROVED: QUICK.tries})
        assert re.search(
            rf"^{chosen}: not proved: .*/{chosen}: signature 1: expected one by guardian", done.failures[0]
        )
        assert not list(tmp_path.rglob("*.jsonl"))
        # Another guardian has the correctly signed message.
        healed = fetch_vaas(MAINNET, [proxy.url, guardian], emitter, tmp_path, [(chosen, chosen)], QUICK)
    assert (healed.count, healed.missing, dict(healed.faults)) == (1, [], {UNPROVED: 1})
    assert fetched(tmp_path) == {chosen: there[chosen]}


@pytest.mark.parametrize("reported", ["é", "%", 7, None])
def test_invalid_base64_is_a_fault(guardian: str, tmp_path: Path, reported: object) -> None:
    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        spoiled = json.dumps({"vaaBytes": reported}, ensure_ascii=False).encode()
        return status, spoiled if "signed_vaa" in path else body

    with proxied(guardian, edit=edit) as proxy:
        done = fetch_vaas(MAINNET, [proxy.url], MADE, tmp_path, [(FIRST, FIRST)], QUICK)
    assert (done.count, done.missing, dict(done.faults)) == (0, [(FIRST, FIRST)], {UNREADABLE: QUICK.tries})


def test_a_gap_is_requested_again_in_the_end_and_then_by_the_next_run_alone(guardian: str, tmp_path: Path) -> None:
    late, later = FIRST + 5, FIRST + 9

    def spoil(path: str, nth: int) -> str | None:
        return "404" if {late: nth < 2, later: nth < 3}.get(sequence_in(path)) else None

    with proxied(guardian, spoil) as proxy:
        done = fetch_vaas(MAINNET, [proxy.url], MADE, tmp_path, [(FIRST, FIRST + 19)], QUICK)
        assert (done.count, done.missing, done.left) == (19, [(later, later)], 0)
        assert [text.split(":")[0] for text in done.failures] == [str(later)]
        before = Counter(proxy.requested)
        done = fetch_vaas(MAINNET, [proxy.url], MADE, tmp_path, [(FIRST, FIRST + 19)], QUICK)
    assert (done.count, done.held, done.missing) == (1, 19, [])
    assert {sequence_in(path) for path in (proxy.requested - before)} == {later, -1}
    assert fetched(tmp_path) == expected(MADE, FIRST, FIRST + 20)


@pytest.mark.parametrize("killed_after", [1, 7])
def test_a_fetch_that_is_killed_writes_the_same_bytes(guardian: str, tmp_path: Path, killed_after: int) -> None:
    settings = replace(QUICK, max_bytes=1_500)
    fetch_vaas(MAINNET, [guardian], MADE, tmp_path / "whole", [(FIRST, END - 1)], settings)

    def die(step: Progress) -> None:
        if step.done == killed_after:
            raise SystemExit

    with pytest.raises(SystemExit):
        fetch_vaas(MAINNET, [guardian], MADE, tmp_path / "killed", [(FIRST, END - 1)], settings, die)
    (torn,) = (tmp_path / "killed").rglob("*.part")
    with torn.open("ab") as file:
        file.write(b'{"id":"2/00')
    done = fetch_vaas(MAINNET, [guardian], MADE, tmp_path / "killed", [(FIRST, END - 1)], settings)
    assert (done.count, done.held) == (END - FIRST - killed_after, killed_after)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.parametrize("kept", [0, 1, 20, -1])
def test_a_fetch_that_is_killed_in_its_first_line_continues(guardian: str, tmp_path: Path, kept: int) -> None:
    fetch_vaas(MAINNET, [guardian], MADE, tmp_path / "whole", [(FIRST, FIRST + 1)], QUICK)
    folder = folder_of(tmp_path / "killed", MADE)
    folder.mkdir(parents=True)
    line = folder_of(tmp_path / "whole", MADE).joinpath(f"{FIRST}to{FIRST + 2}.jsonl").read_bytes().splitlines()[0]
    (folder / f"{FIRST}.part").write_bytes(line[:kept])
    fetch_vaas(MAINNET, [guardian], MADE, tmp_path / "killed", [(FIRST, FIRST + 1)], QUICK)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_no_more_queries_than_allowed_are_under_way(guardian: str, tmp_path: Path) -> None:
    under_way, most = 0, 0

    def spoil(path: str, nth: int) -> str | None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        return None

    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        nonlocal under_way
        under_way -= 1
        return status, body

    with proxied(guardian, spoil, edit) as proxy:
        fetch_vaas(MAINNET, [proxy.url], MADE, tmp_path, [(FIRST, END - 1)], QUICK)
    assert 1 < most <= QUICK.requests


def test_a_signal_ends_it_well(guardian: str, tmp_path: Path) -> None:
    def notify(step: Progress) -> None:
        if step.done == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    done = fetch_vaas(MAINNET, [guardian], MADE, tmp_path, [(FIRST, END - 1)], QUICK, notify)
    assert 3 <= done.count < END - FIRST
    assert done.left == END - FIRST - done.count
    assert fetched(tmp_path) == expected(MADE, FIRST, FIRST + done.count)


def test_guardians_that_do_not_serve_an_emitter_or_are_of_another_network_are_no_faults(
    guardian: str, tmp_path: Path
) -> None:
    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        return (400, b"not supported for PythNet") if "/26/" in path else (status, body)

    with proxied(guardian, edit=edit) as proxy:
        done = fetch_vaas(MAINNET, [proxy.url], Emitter(26, MADE.address), tmp_path, [(1, 3)], QUICK)
    assert (done.missing, dict(done.faults)) == ([(1, 3)], {BAD_STATUS: 3})
    testnet = StoreSettings("", "mine", wormhole="testnet")

    def older(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        return status, body.replace(b'"index": 7', b'"index": 0')

    found = pytest.raises(ValueError, match="expected a guardian of testnet, found a different guardian set 0")
    with proxied(guardian, edit=older) as proxy, found:
        fetch_vaas(testnet, [proxy.url], MADE, tmp_path, [(1, 3)], QUICK)
    with pytest.raises(ValueError, match=r"needs a Wormhole network, e\.g\. wormhole-mainnet; found permatest-1"):
        fetch_vaas(StoreSettings("", "permatest-1"), [guardian], MADE, tmp_path, [(1, 3)], QUICK)
    with pytest.raises(ValueError, match=r"invalid URL .*; expected e\.g\. http://HOST:14265"):
        fetch_vaas(MAINNET, ["nonsense"], MADE, tmp_path, [(1, 3)], QUICK)


def test_a_guardian_given_twice_is_queried_once(guardian: str, tmp_path: Path) -> None:
    urls = [guardian, f"{guardian}/", f"{guardian}/v1/"]
    done = fetch_vaas(MAINNET, urls, MADE, tmp_path, [(END, END)], QUICK)
    assert (done.missing, dict(done.faults)) == ([(END, END)], {NOT_THERE: 1})


def test_a_guardian_that_is_down_is_left_out(guardian: str, tmp_path: Path) -> None:
    with closing(socket()) as deaf:
        deaf.bind(("127.0.0.1", 0))
        urls = [f"http://127.0.0.1:{deaf.getsockname()[1]}", guardian]
        done = fetch_vaas(MAINNET, urls, MADE, tmp_path, [(FIRST, FIRST + 1)], QUICK)
    assert (done.count, done.missing, done.faults.total()) == (2, [], 0)


def test_a_signal_ends_the_wait_for_another_try(guardian: str, tmp_path: Path) -> None:
    def edit(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if sequence_in(path) != FIRST:
            return status, body
        os.kill(os.getpid(), signal.SIGTERM)
        return 503, b"busy"

    with proxied(guardian, edit=edit) as proxy:
        done = fetch_vaas(MAINNET, [proxy.url], MADE, tmp_path, [(FIRST, FIRST)], FetchSettings(backoff_s=1.0, tries=3))
    assert (done.count, done.missing, dict(done.faults)) == (0, [(FIRST, FIRST)], {BAD_STATUS: 1})


def run(*arguments: str, **environment: str) -> Result:
    command = ["--network", "wormhole-mainnet", "fetch", *arguments]
    return CliRunner().invoke(cli.app, command, env=environment)


def test_the_command_names_what_was_not_available_and_fetches_what_is_missing_in_the_store(
    guardian: str, tmp_path: Path
) -> None:
    emitter, first, end = real_span()
    there = expected(emitter, first, end)
    of = ["--guardian", guardian, "--emitter", f"{emitter.chain}/0x{emitter.address.hex()}", "--backoff", "0.01"]
    highest = max(there)
    done = run(*of, "--range", f"{highest}:{highest + 2}", "--into", str(tmp_path / "all"), "--json")
    assert (done.exit_code, json.loads(done.stdout)["missing"]) == (3, [[highest + 1, highest + 1]])
    settings = replace(MAINNET, url=f"sqlite:///{tmp_path / 'store'}")
    migrate(settings)
    place = (emitter.chain, emitter.address)
    key = sequence_key(first)
    with closing(open_store(settings, writable=True)) as store, store.batch() as batch:
        names = ("emitter_chain", "emitter_address", "seq_range", "sequence_key", "digest", "verified")
        batch.upsert(vaas, names, [(*place, key[:16], key, b"\xdd" * 32, True)])
        batch.upsert(sequence_hints, sequence_hints.names, [(*place, key[:16])])
    rest = [*of, "--range", f"{first}:{end}", "--into", str(tmp_path / "rest"), "--missing"]
    done = run(*rest, PERMANODE_STORE=settings.url)
    assert f"{len(there) - 1} vaas fetched, 0 already there" in done.stdout
    assert fetched(tmp_path / "rest") == {at: data for at, data in there.items() if at != first}


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--range", "1:2"], "use either --node or --guardian"),
        (["--guardian", "http://x", "--node", "http://x", "--range", "1:2"], "use either --node or --guardian"),
        (["--guardian", "http://x", "--range", "1:2"], "use --guardian and --emitter together"),
        (["--guardian", "http://x", "--emitter", "2/ab", "--follow", "--range", "1:"], "works only with --node"),
        (["--guardian", "http://x", "--emitter", "2/ab", "--range", "1:"], "both ends are required"),
        (["--guardian", "http://x", "--emitter", "2/ab", "--range", f"1:{2**64 + 1}"], "must be below 2^64"),
        (["--guardian", "http://x", "--emitter", "pluto/ab", "--range", "1:2"], "expected CHAIN/ADDRESS, as 2/0000"),
        (["--guardian", "http://x", "--emitter", "2/xyz", "--range", "1:2"], "'xyz': expected an address"),
    ],
)
def test_nonsensical_options_are_rejected_with_what_was_expected(
    tmp_path: Path, arguments: list[str], printed: str
) -> None:
    done = run(*arguments, "--into", str(tmp_path))
    assert done.exit_code == 2
    assert printed in " ".join(done.output.replace("│", " ").split())


def test_an_emitter_is_named_by_number_or_name_and_by_any_form_of_its_address() -> None:
    solana = Emitter(1, bytes.fromhex("ec7372995d5cc8732397fb0ad35c0121e0eaa90d26f828a534cab54391b3a4f5"))
    named = "solana/Gv1KWf8DT1jKv5pKBmGaTmVszqa56Xn8YGx2Pg7i7qAk"
    assert Emitter.parse(named) == Emitter.parse(f"1/{solana.address.hex()}") == solana
    ethereum = Emitter(2, bytes.fromhex("3ee18b2214aff97000d974cf647e7c347e8fa585".zfill(64)))
    assert Emitter.parse("ethereum/0x3ee18B2214AFF97000D974cf647E7C347E8fa585") == ethereum
