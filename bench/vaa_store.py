"""Speed of loading generated VAAs, and of reading one by id compared with reading an IOTA message.

The generated VAAs have real signatures of another message. So each signature is recovered at full cost and does not
match its guardian, and all are loaded as unverified. Every payload is a transfer and is decoded. Mainnet's own VAAs are
loaded with them; those are read.
"""

import base64
import json
import random
import sqlite3
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from bench.http import database_of, oracle_store
from bench.load import Run, load, machine
from bench.servers import Figure, run_wrk, serving
from db.admin.migrate import migrate
from db.connect import StoreSettings
from ledger.wormhole.vaa import Vaa, decode_vaa, encode_vaa

NETWORK = "wormhole-mainnet"
BRIDGES = {
    1: "ec7372995d5cc8732397fb0ad35c0121e0eaa90d26f828a534cab54391b3a4f5",
    2: "0000000000000000000000003ee18b2214aff97000d974cf647e7c347e8fa585",
    4: "000000000000000000000000b6f6d86a8f9879a9c87f643768d9efc38c1da6e7",
    5: "0000000000000000000000005a58505a96d1dbf8df91cb21b54419fc36e93fde",
}
"""The token bridges of four chains."""

SINCE, SPAN_S = 1_640_995_200, 30 * 86_400
TOKENS, RECIPIENTS = 200, 20_000

VAA_IDS = """
SELECT emitter_chain || '/' || lower(hex(emitter_address)) || '/' || substr(ltrim(sequence_key, '0') || '0', 1,
    max(1, length(ltrim(sequence_key, '0'))))
FROM vaas WHERE verified AND canonical
"""
"""A sequence may exceed SQLite's integers."""

IDS = 1_000
ROUNDS = 3
LEAST_LOADED = 1_500
"""The bar: VAAs per second."""


def transfers(model: Vaa, count: int, bridges: Mapping[int, str]) -> Iterator[tuple[Vaa, str]]:
    """Transfers with the head and signatures of a model, each with the id of a transaction. `bridges`: the address of
    the token bridge of each chain.
    """
    random_numbers = random.Random(9)
    tokens = [random_numbers.randbytes(32) for _ in range(TOKENS)]
    recipients = [random_numbers.randbytes(32) for _ in range(RECIPIENTS)]
    chains = sorted(bridges)
    for number in range(count):
        chain = chains[number % len(chains)]
        to_chain = chains[random_numbers.randrange(len(chains))]
        amount = random_numbers.randrange(10**12).to_bytes(32)
        token, recipient = random_numbers.choice(tokens), random_numbers.choice(recipients)
        payload = b"\1" + amount + token + chain.to_bytes(2) + recipient + to_chain.to_bytes(2) + bytes(32)
        vaa = replace(
            model,
            timestamp=SINCE + number * SPAN_S // count,
            emitter_chain=chain,
            emitter_address=bytes.fromhex(bridges[chain]),
            sequence=number,
            payload=payload,
        )
        yield vaa, f"0x{random_numbers.randbytes(32).hex()}"


def write_vaas(model: Vaa, signatures: int, count: int, file: Path) -> None:
    """Writes transfers with the model's first `signatures` as lines for a load."""
    shorter = replace(model, signatures=model.signatures[:signatures])
    with file.open("w") as lines:
        lines.writelines(line_of(vaa, transaction) for vaa, transaction in transfers(shorter, count, BRIDGES))


def line_of(vaa: Vaa, transaction: str) -> str:
    """The line of a VAA, observed at its own timestamp."""
    data = base64.b64encode(encode_vaa(vaa)).decode()
    return json.dumps({"vaa": data, "tx_id": transaction, "observed_at": 1000 * vaa.timestamp}) + "\n"


def run(model: Vaa, verified: list[bytes], count: int, seconds: int) -> int:
    """Loads VAAs with as many signatures as the model, then VAAs with one signature, together with the `verified` ones,
    and reads these by id. Returns 1 if the bar is missed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loaded(model, verified, len(model.signatures), count, folder / "signed")
        store, rate = loaded(model, verified, 1, count, folder / "unsigned")
        figures = measured_by_id(store, folder, seconds)
    of_iota = figures["IOTA message"].per_second
    for kind, each in figures.items():
        print(
            f"{kind:40}{each.per_second:>8,.0f} req/s  p50 {each.p50_ms:.2f} ms  p99 {each.p99_ms:.2f} ms  "
            f"cpu {each.cpu_us:.0f} µs  errors {each.errors}  {each.per_second / of_iota:.2f} ×"
        )
    met = rate >= LEAST_LOADED
    print(f"load of VAAs with one signature: bar {LEAST_LOADED:,}/s {'met' if met else 'missed'}")
    return 0 if met else 1


def loaded(model: Vaa, verified: list[bytes], signatures: int, count: int, folder: Path) -> tuple[StoreSettings, float]:
    """A store with that many VAAs and the verified ones, and the VAAs loaded per second."""
    folder.mkdir()
    file = folder / "vaas.jsonl"
    write_vaas(model, signatures, count, file)
    with file.open("a") as lines:
        lines.writelines(json.dumps({"vaa": each.hex()}) + "\n" for each in verified)
    store = StoreSettings(f"sqlite:///{folder / 'store'}", NETWORK)
    migrate(store)
    print(machine())
    done = load(store, "local[*]", file)
    places = {(vaa.emitter_chain, vaa.emitter_address, vaa.sequence) for vaa in map(decode_vaa, verified)}
    show(signatures, count + len(places), done)
    return store, float(done.report["messages_per_second"])


def show(signatures: int, count: int, done: Run) -> None:
    """Prints one line per load. Raises SystemExit if not all were loaded."""
    report = done.report
    if (report["messages"], report["rejects"]) != (count, 0):
        raise SystemExit(f"generated {count} VAAs, loaded {report['messages']}, {report['rejects']} rejects")
    stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in report["seconds"].items())
    rows = sum(report["rows_by_table"].values())
    print(
        f"{count:,} VAAs of {signatures} signatures, {rows:,} rows: {report['messages_per_second']:,.0f} VAAs/s; "
        f"seconds: {stages}; MiB at most: {dict(done.memory)}",
        flush=True,
    )


def measured_by_id(store: StoreSettings, folder: Path, seconds: int) -> dict[str, Figure]:
    """The median of ROUNDS for each kind of request, with the servers taking turns."""
    iota = folder / "iota"
    network = oracle_store(f"sqlite:///{iota}")
    vaas = ids(store.url.removeprefix("sqlite:///"), VAA_IDS)
    messages = ids(str(iota), "SELECT lower(hex(message_id)) FROM messages")
    with serving(store.url, NETWORK) as own, serving(f"sqlite:///{iota}", network) as beside:
        requested = {
            "IOTA message": (beside, [f"/api/v1/messages/{each}" for each in messages]),
            "VAA, as a guardian answers": (own, [f"/v1/signed_vaa/{each}" for each in vaas]),
            "VAA, as wormholescan answers": (own, [f"/api/wormhole/v1/vaas/{each}" for each in vaas]),
            "VAA, its row of the event tables": (own, [readrow(each) for each in vaas]),
        }
        taken: dict[str, list[Figure]] = {kind: [] for kind in requested}
        for _ in range(ROUNDS):
            for kind, (server, paths) in requested.items():
                taken[kind].append(run_wrk(server, paths, seconds, folder))
    return {
        kind: min(seen, key=lambda each: abs(each.per_second - statistics.median(one.per_second for one in seen)))
        for kind, seen in taken.items()
    }


def readrow(vaa: str) -> str:
    """The path of a message's row."""
    chain, emitter, sequence = vaa.split("/")
    return f"/api/wormhole/events/readrow?emitterChain={chain}&emitterAddress={emitter}&sequence={sequence}"


def ids(store: str, sql: str) -> list[str]:
    """Some ids in a store's file, in the form for paths."""
    connection = sqlite3.connect(f"file:{database_of(Path(store))}?mode=ro", uri=True)
    found = [row[0] for row in connection.execute(sql)]
    connection.close()
    return random.Random(4).sample(found, min(IDS, len(found)))
