"""How fast VAAs are verified, beside the bare recovery of their signatures in the same run.

    python -m bench.vaa [--seconds 2] [--rounds 5] [--load 60000]

Needs the shipped vectors. The mainnet VAAs of 13 signatures: from bytes to a verdict; the same
signatures given to libsecp256k1 alone, with their digests at hand; from bytes to a payload, unverified. One process,
pass by pass in turn, so that whatever else the machine does is met by both; seconds are those of the processor.
The median of the rounds counts; of the ratio, the median of each round's. With --load in its place: how fast so many
generated VAAs are loaded by `permanode load`, and how fast one of them is read by its id (bench/vaa_store.py).
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from coincurve import PublicKey

from bench import vaa_store
from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.payloads import Payload, decode_payload
from ledger.wormhole.vaa import decode_vaa, digest
from ledger.wormhole.verify import verify

VECTORS = Path(__file__).parent.parent / "tests" / "vectors" / "wormhole" / "vaas.jsonl"
SIGNATURES = 13
MAINNET = {each.index: each for each in PUBLISHED["mainnet"]}


def vaas() -> list[bytes]:
    """Mainnet's VAAs, those that verify."""
    records = [json.loads(line) for line in VECTORS.open()]
    return [bytes.fromhex(each["hex"]) for each in records if each["network"] == "mainnet" and each["quorum"]]


def judge(data: bytes) -> None:
    """What a load does with a VAA that it verifies: parse, hash, recover, compare."""
    verdict = verify(decode_vaa(data), MAINNET)
    if not verdict.verified:
        raise RuntimeError(verdict.reason)


def recover(signed: tuple[bytes, tuple[bytes, ...]]) -> None:
    """The part of it that libsecp256k1 does."""
    message, signatures = signed
    for signature in signatures:
        PublicKey.from_signature_and_message(signature, message, hasher=None)


def read(data: bytes) -> Payload:
    """What a load does with a VAA that it does not verify."""
    vaa = decode_vaa(data)
    digest(vaa)
    return decode_payload("mainnet", vaa)


def measure(works: Sequence[tuple[Callable[[Any], object], Sequence[Any]]], seconds: float) -> list[float]:
    """Items a second of each, passing over them in turn until all have had their time."""
    spent = [0.0] * len(works)
    passes = 0
    while min(spent) < seconds:
        for place, (work, items) in enumerate(works):
            start = time.process_time()
            for item in items:
                work(item)
            spent[place] += time.process_time() - start
        passes += 1
    return [passes * len(items) / each for (_, items), each in zip(works, spent, strict=True)]


def main() -> int:
    """Measure by turns and print the rates, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="what the quickest takes of a round")
    parser.add_argument("--rounds", type=int, default=5, help="how many rounds")
    parser.add_argument("--load", type=int, metavar="VAAS", help="load so many instead, and read them")
    options = parser.parse_args()

    verified = vaas()
    whole = [each for each in verified if len(decode_vaa(each).signatures) == SIGNATURES]
    if options.load is not None:
        return vaa_store.run(decode_vaa(whole[0]), verified, options.load, int(options.seconds))
    bare = [(digest(vaa), tuple(each.signature for each in vaa.signatures)) for vaa in map(decode_vaa, whole)]
    rounds = [measure([(judge, whole), (recover, bare)], options.seconds) for _ in range(options.rounds)]
    unverified = [measure([(read, whole)], options.seconds)[0] for _ in range(options.rounds)]

    print(f"{len(whole)} VAAs of {SIGNATURES} signatures, {statistics.mean(map(len, whole)):.0f} bytes on average,")
    print(f"median of {options.rounds} rounds, one core, python {sys.version_info.major}.{sys.version_info.minor}")
    print(f"bytes → VAA → verdict            {statistics.median(ours for ours, _ in rounds):>8,.0f} VAAs/s")
    print(f"their signatures, secp256k1 bare {statistics.median(theirs for _, theirs in rounds):>8,.0f} VAAs/s")
    print(f"ratio                            {statistics.median(ours / theirs for ours, theirs in rounds):>8.2f} ×")
    print(f"bytes → VAA, digest, payload     {statistics.median(unverified):>8,.0f} VAAs/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
