"""The contract: `python -m api.http.openapi` prints it, `--check` compares it with openapi.yaml.

A change of the API is committed with `python -m api.http.openapi > openapi.yaml`.
"""

import sys
from pathlib import Path
from typing import Any

import yaml

from api.app import ApiSettings, Permanode, routes

COMMITTED = Path(__file__).parents[2] / "openapi.yaml"


def document() -> dict[str, Any]:
    """The contract; it does not depend on which networks are served."""
    app = Permanode(ApiSettings())
    app.router.routes.extend(routes({}, "", "", ""))
    return app.openapi()


def render() -> str:
    """The contract as YAML, in the order of the routes."""
    text: str = yaml.safe_dump(document(), sort_keys=False, allow_unicode=True, width=120)
    return text


def main(arguments: list[str]) -> int:
    """Prints, or with --check returns 1 when the committed file differs."""
    if arguments == ["--check"]:
        if COMMITTED.read_text("utf-8") == render():
            return 0
        sys.stderr.write("openapi.yaml is behind the code: python -m api.http.openapi > openapi.yaml\n")
        return 1
    if arguments:
        sys.stderr.write(f"unknown arguments {' '.join(arguments)}: only --check\n")
        return 2
    sys.stdout.write(render())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
