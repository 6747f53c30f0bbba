"""The OpenAPI document: `python -m api.http.openapi` prints it, `--check` compares it with openapi.yaml.

Commit a change of the API together with `python -m api.http.openapi > openapi.yaml`.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from api.app import ApiSettings, Permanode, routes

COMMITTED = Path(__file__).parents[2] / "openapi.yaml"


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document. It is the same for every server, whichever networks it serves.

    Callers share one value and must not change it.
    """
    app = Permanode(ApiSettings(), {}, "", "")
    app.router.routes.extend(routes({}, "", "", ""))
    return app.openapi()


class Plain(yaml.SafeDumper):
    """Writes equal parts in full: YAML anchors are hard to read, and some programs do not resolve them."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 (the signature is PyYAML's)
        """Whether equal parts are written in full: always."""
        return True


def _literal(dumper: Plain, text: str) -> yaml.ScalarNode:
    """Writes texts of several lines as blocks, line by line."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Plain.add_representer(str, _literal)


def render() -> str:
    """The document as YAML, in the order of the routes."""
    text: str = yaml.dump(document(), Dumper=Plain, sort_keys=False, allow_unicode=True, width=120)
    return text


def main(arguments: list[str]) -> int:
    """Prints the document; with --check returns 1 if the committed file differs."""
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
