"""Speed of the codecs, compared with other implementations on the same messages in one run.

    python -m bench.codec [--seconds 2] [--rounds 3] [--peer DIR] [--sdk PYTHON] [--alone]

Chrysalis is compared with npm's @iota/iota.js 1.8.6. It needs the sample, and for the peer node ≥ 18 and npm on the
path: three packages are installed into a temporary directory, or found in DIR/node_modules. Measured is bytes → value,
id and JSON text, in one process each, taking turns; the median of the rounds counts. The ids of both sides must be
equal. Stardust is compared with PyPI's iota-sdk 1.1.4, which is Rust (bench/codec_stardust.py). It is installed into
its own environment, which needs Python 3.11 or 3.12, or found in the environment of PYTHON. `--alone` omits the peers.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from bench import codec_stardust
from bench.measure import measure
from bench.peers import install_peer
from ledger.chrysalis.archive_json import message_from_archive
from ledger.chrysalis.codec import decode_message, encode_message
from ledger.chrysalis.json import message_json
from ledger.ids import message_id

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "sample" / "chrysalis"
PACKAGES = ("@iota/iota.js@1.8.6", "@iota/crypto.js@1.8.6", "@iota/util.js@1.8.6")


def archived_messages() -> list[Any]:
    """The messages in the sample's archive files, as parsed JSON."""
    lines = [
        line for path in sorted(SAMPLE.iterdir()) if "to" in path.stem or path.suffix == ".part" for line in path.open()
    ]
    return [message for line in lines for message, _ in json.loads(line)["messages"].values()]


def read(data: bytes) -> bytes:
    """What the API does with the stored bytes of a message: decode, hash, render."""
    message_id(data)
    return orjson.dumps(message_json(decode_message(data)))


def load(archived: Any) -> bytes:
    """What a load does with an archived message after parsing its JSON: value, bytes, id."""
    return message_id(encode_message(message_from_archive(archived)))


def install(directory: Path) -> None:
    """Installs the peer's packages from npm."""
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", directory, *PACKAGES],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def peer_rate(directory: Path, file: Path, seconds: float) -> dict[str, Any]:
    """One measurement of the peer, in a new process that warms up first."""
    script = Path(__file__).with_name("codec_peer.mjs")
    done = subprocess.run(["node", script, directory, file, str(seconds)], check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> int:
    """Measures in turn, and prints the rates and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2, help="seconds per measurement")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements of each side")
    parser.add_argument("--peer", type=Path, help="a directory whose node_modules contains the three packages")
    parser.add_argument("--sdk", help="a Python with iota-sdk 1.1.4 installed")
    parser.add_argument("--alone", action="store_true", help="omit the peers")
    options = parser.parse_args()

    if not options.alone and (missing := [tool for tool in ("node", "npm") if shutil.which(tool) is None]):
        print(f"the peer needs {' and '.join(missing)} on the path (node 18 or newer); --alone omits it")
        return 1
    sdk = None if options.alone else options.sdk or codec_stardust.find_python()
    if not options.alone and sdk is None:
        print("the Stardust peer needs Python 3.11 or 3.12 on the path; --alone omits it")
        return 1
    archived = archived_messages()
    messages = [encode_message(message_from_archive(each)) for each in archived]
    own: list[float] = []
    loading: list[float] = []
    theirs: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        directory = options.peer or Path(name)
        if not options.alone and options.peer is None:
            print("npm install", *PACKAGES, flush=True)
            install(directory)
        file = Path(name) / "messages.hex"
        file.write_text("\n".join(data.hex() for data in messages))
        digest = blake2b("".join(message_id(data).hex() for data in messages).encode(), digest_size=32).hexdigest()
        for _ in range(options.rounds):
            own.append(measure(read, messages, options.seconds))
            loading.append(measure(load, archived, options.seconds))
            if not options.alone:
                answer = peer_rate(directory, file, options.seconds)
                if answer["digest"] != digest:
                    print("the peer computed different ids")
                    return 1
                theirs.append(answer["rate"])

    python = f"python {sys.version_info.major}.{sys.version_info.minor}"
    size = statistics.mean(map(len, messages))
    print(f"{len(messages)} messages of {size:.0f} bytes on average, median of {options.rounds} rounds, one core")
    print(f"archive → value → bytes → id   {statistics.median(loading):>10,.0f} messages/s   ({python})")
    print(f"bytes → value, id, JSON text   {statistics.median(own):>10,.0f} messages/s   ({python})")
    if theirs:
        print(f"the same by iota.js 1.8.6      {statistics.median(theirs):>10,.0f} messages/s   (node)")
        print(f"ratio                          {statistics.median(own) / statistics.median(theirs):>10.1f} ×")
    with tempfile.TemporaryDirectory() as name:
        if sdk is not None and options.sdk is None:
            print("pip install", codec_stardust.PACKAGE, flush=True)
            sdk = install_peer(codec_stardust.PACKAGE, Path(name), sdk)
        codec_stardust.report(sdk, options.rounds, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
