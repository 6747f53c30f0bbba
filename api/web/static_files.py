"""The files that pages load: style sheets, scripts and an icon, at paths that contain a digest of all of them.

Browsers may therefore keep them. Files below `vendor/` are unchanged copies from npm packages; SOURCES.json there
names package, version, licence and SHA-256 of each.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "static"

MEDIA_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

BARE_IMPORT = re.compile(rb"'@noble/(?=[a-z]+/)")
"""How a vendored module names another package. Browsers resolve paths only."""


def resolved(name: str, body: bytes) -> bytes:
    """Returns a file with the paths of the packages that it imports. `name`: its path below FOLDER."""
    up = b"../" * (len(Path(name).parts) - 2)
    return BARE_IMPORT.sub(b"'" + up, body) if name.startswith("vendor/") and name.endswith(".js") else body


class StaticFiles:
    """All files in memory, by path.

    Attributes:
        prefix: the path of the folder.
        files: path → body and media type.
    """

    def __init__(self) -> None:
        names = sorted(path for path in FOLDER.rglob("*") if path.suffix in MEDIA_TYPES)
        bodies = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in names}
        digest = sha256(b"".join(sha256(body).digest() for body in bodies.values())).hexdigest()[:12]
        self.prefix = f"/web/{digest}"
        self.files = {
            f"{self.prefix}/{name}": (resolved(name, body), MEDIA_TYPES[Path(name).suffix])
            for name, body in bodies.items()
        }
