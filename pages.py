"""The pages of docs/ that are made from code, so that they cannot fall behind it.

Rules of this file: a page is a function from the code's own tables to text; `write` compares or writes, nothing else
touches files. Pages that people write are not here.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from pathlib import Path

import typer.main

from cli import app
from db.schema_page import schema_page
from settings import FILE, PARTS, default, describe_kind, load_part, variable

DOCS = Path(__file__).parent / "docs"

MADE = "<!-- Made by `permanode docs` from {source}; change it there. -->\n\n"


def settings_page() -> str:
    """docs/settings.md: one table a part."""
    text = MADE.format(source="the parts' settings classes") + _SETTINGS_HEAD.format(file=FILE)
    for name in PARTS:
        part = load_part(name)
        kinds = typing.get_type_hints(part)
        section = "networks.NAME" if name == "store" else name
        text += f"\n## [{section}]\n\n| key | type | default | variable | meaning |\n|---|---|---|---|---|\n"
        for field in dataclasses.fields(part):
            if (name, field.name) == ("store", "network"):
                continue
            value = default(field)
            shown = "needed" if value is dataclasses.MISSING else f"`{value}`" if value not in ("", None) else "none"
            kind, key = describe_kind(kinds[field.name]), f"{name}.{field.name}"
            text += f"| {field.name} | {kind} | {shown} | `{variable(key)}` | {field.metadata['help']} |\n"
    return text


def cli_page() -> str:
    """docs/cli.md: the help of every command, as the terminal shows it."""
    text = MADE.format(source="cli.py") + _CLI_HEAD
    for name, text_of in help_texts().items():
        text += f"\n## {name}\n\n```\n{text_of}\n```\n"
    return text


def help_texts() -> dict[str, str]:
    """Command, with its group, → help text."""
    found: dict[str, str] = {}

    def visit(command: typing.Any, path: str, parent: typing.Any) -> None:
        context = command.make_context(path.rpartition(" ")[2], [], parent=parent, resilient_parsing=True)
        found[path] = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        for name, child in sorted(getattr(command, "commands", {}).items()):
            visit(child, f"{path} {name}", context)

    visit(typer.main.get_command(app), "permanode", None)
    return found


PAGES: Mapping[str, Callable[[], str]] = {"settings.md": settings_page, "cli.md": cli_page, "schema.md": schema_page}


def write(*, check: bool) -> list[str]:
    """Names of the pages that are behind the code; written anew unless `check`."""
    behind = []
    for name, page in PAGES.items():
        path, text = DOCS / name, page()
        if not path.exists() or path.read_text("utf-8") != text:
            behind.append(f"docs/{name}")
            if not check:
                path.write_text(text, "utf-8")
    return behind


_CLI_HEAD = """\
# Commands

`./permanode COMMAND` sets everything up first; inside the environment it is `permanode COMMAND`.
Exit codes: 0 good, 3 loaded with rejects, 1 failed, 2 not understood.
"""

_SETTINGS_HEAD = """\
# Settings

What holds is, from weak to strong: the default, `{file}`, the environment, the command's flags. `permanode config`
prints every setting, its value and where that came from. Unknown keys and wrong types are refused.

The variables of `store` speak of the network at hand: the one that `--network` or `PERMANODE_NETWORK` names, else the
file's `network`, else the only one there is. `PERMANODE_CONFIG` names another file.

```toml
network = "mainnet"   # the network of mounts that name none

[networks.mainnet]
url = "sqlite:///data/mainnet"

[api]
port = 8000

[etl]
master = "local[4]"
```
"""
