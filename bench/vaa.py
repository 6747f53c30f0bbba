"""Speed of VAA verification, compared with the bare recovery of the signatures in the same run.

    python -m bench.vaa [--seconds 2] [--rounds 5] [--load 60000]

It needs the test vectors. It measures mainnet VAAs with 13 signatures: from bytes to a verdict; the recovery of the
same signatures by libsecp256k1 alone, with given digests; from bytes to a payload without verification. One process
alternates between them, so that other load affects all, and measures CPU seconds. The median of the rounds counts; for
the ratio, the median of the rounds' ratios. --load measures instead how fast `permanode load` loads that many generated
VAAs, and how fast one is read by id (bench/vaa_store.py).
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
    """Mainnet VAAs that verify."""
    records = [json.loads(line) for line in VECTORS.open()]
    return [bytes.fromhex(each["hex"]) for each in records if each["network"] == "mainnet" and each["quorum"]]


def judge(data: bytes) -> None:
    """What a load does with a VAA that it verifies: parse, hash, recover, compare."""
    verdict = verify(decode_vaa(data), MAINNET)
    if not verdict.verified:
        raise RuntimeError(verdict.reason)


def recover(signed: tuple[bytes, tuple[bytes, ...]]) -> None:
    """The part of libsecp256k1."""
    message, signatures = signed
    for signature in signatures:
        PublicKey.from_signature_and_message(signature, message, hasher=None)


def read(data: bytes) -> Payload:
    """What a load does with a VAA that it does not verify."""
    vaa = decode_vaa(data)
    digest(vaa)
    return decode_payload("mainnet", vaa)


def measure(works: Sequence[tuple[Callable[[Any], object], Sequence[Any]]], seconds: float) -> list[float]:
    """Items per second of each function, alternating until all have had their time."""
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
    """Measures in turn, and prints the rates and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="seconds of the fastest function per round")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds")
    parser.add_argument("--load", type=int, metavar="VAAS", help="load this many VAAs instead, and read them")
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
    print(f"bytes → VAA → verdict            {statistics.median(own for own, _ in rounds):>8,.0f} VAAs/s")
    print(f"their signatures, secp256k1 bare {statistics.median(theirs for _, theirs in rounds):>8,.0f} VAAs/s")
    print(f"ratio                            {statistics.median(own / theirs for own, theirs in rounds):>8.2f} ×")
    print(f"bytes → VAA, digest, payload     {statistics.median(unverified):>8,.0f} VAAs/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
