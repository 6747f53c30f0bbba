"""How fast VAAs are verified, beside the bare recovery of their signatures in the same run.

    python -m bench.vaa [--seconds 2] [--rounds 5]

Needs the shipped vectors and the extra `wormhole`. The mainnet VAAs of 13 signatures: from bytes to a verdict; the same
signatures given to libsecp256k1 alone, with their digests at hand; from bytes to a payload, unverified. One process,
pass by pass in turn, so that whatever else the machine does is met by both; seconds are those of the processor.
The median of the rounds counts; of the ratio, the median of each round's.
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

from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.payloads import Payload, decode_payload
from ledger.wormhole.vaa import decode_vaa, digest
from ledger.wormhole.verify import verify

VECTORS = Path(__file__).parent.parent / "tests" / "vectors" / "wormhole" / "vaas.jsonl"
SIGNATURES = 13
MAINNET = {each.index: each for each in PUBLISHED["mainnet"]}


def vaas() -> list[bytes]:
    """Mainnet's VAAs of 13 signatures, those that verify."""
    records = [json.loads(line) for line in VECTORS.open()]
    return [
        bytes.fromhex(record["hex"])
        for record in records
        if record["network"] == "mainnet" and record["quorum"] and record["num_signatures"] == SIGNATURES
    ]


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
    options = parser.parse_args()

    whole = vaas()
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
