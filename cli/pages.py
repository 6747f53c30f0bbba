"""The pages of docs/ that are made from code, so that they cannot fall behind it.

Rules of this file: a page is a function from the code's own tables to text; `write` compares or writes, nothing else
touches files. Pages that people write are not here.
"""

import dataclasses
import typing

from api.analytics_v2.routes import CHANGES_MAX, SUMMED_MAX
from api.explorer_v2.ledger_routes import OUTPUTS_MAX
from api.fields.inx_chronicle_params import SKIPPED_MAX
from api.http.page_sizes import FAMILIES, MAXIMUM
from api.poi_v1.routes import BODY_MAX_BYTES, CONE_MAX
from api.wormhole.events.address_routes import ADDRESSES_MAX, DATED_MAX
from api.wormhole.events.functions import BODY_MAX_BYTES as ASKED_MAX_BYTES
from api.wormhole.events.params import ROWS_MAX
from api.wormhole.events.row_routes import GROUPS_MAX, RECENT_MAX
from api.wormhole.events.sum_routes import COUNTS_MAX
from api.wormhole.params import CHAINS_MAX
from api.wormhole.params import SKIPPED_MAX as VAAS_SKIPPED_MAX
from api.wormhole.scan.routes import BODY_MAX_BYTES as VAA_MAX_BYTES
from cli.options import HOME
from cli.progress import plan_text
from cli.settings import FILE, PARTS, default, describe_kind, load_part, variable
from db.admin.sizing import BY_MILESTONE, STANDING, Demand, load_sizes, plan
from db.admin.wormhole_status import EXAMINED as STATUS_ROWS
from db.connect import StoreSettings
from db.listing.page import EXAMINED_AT_LEAST, EXAMINED_PER_ROW
from db.queries.milestones import CONE_AT_ONCE
from db.queries.series import EXAMINED
from db.queries.wormhole.hours import ROWS_MAX as HOURS_MAX
from db.schema import TABLES
from db.schema.page import schema_page

DOCS = HOME / "docs"

Command: typing.TypeAlias = typing.Any
"""A command as typer makes it. Its class is in a private module of typer."""

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


def cli_page(root: Command) -> str:
    """docs/cli.md: the help of every command, as the terminal shows it."""
    text = MADE.format(source="the commands in cli/") + _CLI_HEAD
    for name, text_of in help_texts(root).items():
        text += f"\n## {name}\n\n```\n{text_of}\n```\n"
    return text


def help_texts(root: Command) -> dict[str, str]:
    """Help text of every command below `root`, by the command's name with its groups."""
    found: dict[str, str] = {}

    def visit(command: typing.Any, path: str, parent: typing.Any) -> None:
        context = command.make_context(path.rpartition(" ")[2], [], parent=parent, resilient_parsing=True)
        found[path] = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        for name, child in sorted(getattr(command, "commands", {}).items()):
            visit(child, f"{path} {name}", context)

    visit(root, "permanode", None)
    return found


def limits_page() -> str:
    """docs/limits.md: what bounds the work of a request."""
    text = MADE.format(source="api/http/page_sizes.py, the API families and db/listing/page.py") + _LIMITS_HEAD
    text += f"\n| family | above {MAXIMUM} | zero | negative | not an integer |\n|---|---|---|---|---|\n"
    for name, sizes in FAMILIES.items():
        text += f"| {name} | {sizes.above} | {sizes.zero} | {sizes.negative} | {sizes.unreadable} |\n"
    return text + _LIMITS_WORK.format(
        per_row=EXAMINED_PER_ROW,
        at_least=EXAMINED_AT_LEAST,
        body=BODY_MAX_BYTES,
        cone=CONE_MAX,
        at_once=CONE_AT_ONCE,
        outputs=OUTPUTS_MAX,
        skipped=SKIPPED_MAX,
        summed=SUMMED_MAX,
        changes=CHANGES_MAX,
        examined=EXAMINED,
        vaas_skipped=VAAS_SKIPPED_MAX,
        vaas_read=EXAMINED_PER_ROW * VAAS_SKIPPED_MAX,
        chains=CHAINS_MAX,
        groups=GROUPS_MAX,
        recent=RECENT_MAX,
        found=ROWS_MAX,
        status=STATUS_ROWS,
        hours=HOURS_MAX,
        counts=COUNTS_MAX,
        addresses=ADDRESSES_MAX,
        dated=DATED_MAX,
        vaa=VAA_MAX_BYTES,
        asked=ASKED_MAX_BYTES,
    )


def sizing_page() -> str:
    """docs/sizing.md: what a message takes in each table, and two plans."""
    ledger = load_sizes()
    text = MADE.format(source="db/admin/sizes.json and db/admin/sizing.py") + _SIZING_HEAD.format(ledger=ledger)
    for unit, count, wanted in (("message", ledger.messages, False), ("milestone", ledger.milestones, True)):
        text += f"\n| a {unit} | rows | partitions | bytes, SQLite | bytes, Cassandra |\n|---|---|---|---|---|\n"
        for table in TABLES:
            if table not in STANDING and table.name in ledger.tables and (table in BY_MILESTONE) is wanted:
                row = ledger.tables[table.name]
                shares = [each / count for each in (row.rows, row.partitions, row.sqlite_bytes, row.cassandra_bytes)]
                text += f"| {table.name} | {shares[0]:.2f} | {shares[1]:.2f} | {shares[2]:.0f} | {shares[3]:.0f} |\n"
    text += _SIZING_PLANS
    for rate in RATES:
        demand = Demand(rate, 365, 10, 3, StoreSettings.chunk_size, StoreSettings.partition_size, 10 * 10**12, 0.5)
        text += (
            f"\n```\n$ permanode plan --rate {rate} --node-disk 10TB\n{plan_text(demand, plan(demand, ledger))}\n```\n"
        )
    return text


RATES = (1_000, 10_000)
"""Messages a second of the plans that docs/sizing.md shows."""


def render_pages(root: Command) -> dict[str, str]:
    """Text of every generated page, by file name; `root` is the command line's top command."""
    return {
        "settings.md": settings_page(),
        "cli.md": cli_page(root),
        "schema.md": schema_page(),
        "limits.md": limits_page(),
        "sizing.md": sizing_page(),
    }


def write(root: Command, *, check: bool) -> list[str]:
    """Writes the pages that differ from the code, unless `check`; returns their names."""
    behind = []
    for name, text in render_pages(root).items():
        path = DOCS / name
        if not path.exists() or path.read_text("utf-8") != text:
            behind.append(f"docs/{name}")
            if not check:
                path.write_text(text, "utf-8")
    return behind


_CLI_HEAD = """\
# Commands

`./permanode COMMAND` sets everything up first; inside the environment it is `permanode COMMAND`.
Exit codes: 0 good, 3 loaded with rejects or not proved so far, 4 counted short, 1 failed, 2 not understood.
"""

_SIZING_HEAD = """\
# Sizing

What the shipped ledger takes ({ledger.messages} messages in {ledger.milestones} milestones, sample/chrysalis with its
genesis), measured in both stores by `permanode bench sizes`. Half of its messages are transactions, of about three
outputs: a network of plain data takes less. SQLite: bytes in use on the pages of a big load. Cassandra: the files of
one copy, compressed by its defaults, flushed and compacted. The lake takes {ledger.lake_bytes:,} bytes, in the small
files of one load.
"""

_SIZING_PLANS = """
What two rates come to in a year, a milestone every ten seconds, with the defaults. Everything grows with the
messages, or with the milestones, but for short lists. `unspent_outputs` is more than will stay, as what was spent a
day ago leaves it; so is `metrics_cache`, whose partition is a day, as the same addresses and tags come again, and count
once. The largest partition is what it can come to when one key takes every row of its table; where the protocol alone
bounds it (how many messages approve one, what a transaction holds), it is the shipped ledger's. Half of each node's
disk is left to compaction: files that a bulk load brought are merged by size first, and need room for a second copy
meanwhile.
"""

_LIMITS_HEAD = """\
# Limits

What bounds the work of a request. Every bound ends in an answer: a 400 that names the parameter, a page with a `state`
for the rest, or a 503.

## Page size

What `page_size` leads to when it is none: 400, the listing's default, or the maximum, as the family's original does.
Nodes had no page size, so at `/api/v1` and `/api/core/v1` it is ours and refused by name; so are the pages of core v2's
receipts. Chronicle took what it could not read for none given and had no upper bound, so at `/api/{network}` an old
client may send anything. The `pageSize` of tx-history is read as inx-api-core-v1 did, under every prefix, the
indexer's as inx-indexer did. Defaults: 1000, and at `/api/{network}`, as Chronicle had it, 100 for a message's children
and an Ed25519 address's outputs and transactions. Explorer v2 and analytics v2, which reads them alike, have 100
everywhere. Cursors of theirs and of the indexer carry the size of their pages, which counts more than the parameter.
"""

_LIMITS_WORK = """
A parameter that is given twice is a 400 in all; parameters that nobody knows are ignored, but in explorer v2,
in analytics v2 and in what is ours, where they are a 400 that names those that there are.

## Rows

A page reads one row more than it shows, to know whether it is the last. Where a filter drops rows, it looks at no more
than {per_row} for each that it may show, or {at_least} in all, then answers with what it has and a `state`: only such a
page may be short, or empty, and not be the last (the indexer calls it `cursor`). With everything that is looked up
beside them a listing reads no more than ten rows for each that its page may hold, pages below 100 as one of 100; the
test suite counts them at the store. Once in its life a process looks where genesis has outputs that nobody spent: 256
rows for each kind of output.

A milestone's `utxo-changes` are one answer, as nodes have them: a row for each input and output of its transactions.
Chronicle's transactions name who spent each of their outputs: a row for each, and a transaction has up to 127. CSV and
NDJSON have all of a history or a series, 1000 rows at a time (hours: those of a day; kept days: all), each within the
time of a request.

A balance of explorer v2 is summed of at most {outputs} unspent outputs, 501 above. Its children by page number begin
within {skipped} of them, 400 above; the cursor leads further.

Activity of analytics v2 is summed over at most {summed} milestones, and addresses are told apart of at most {changes}
created and spent outputs, 501 above. A series by hour, and one by day of what is not kept by day, sums milestones: a
page that looked at {examined} of them ends with its day. A series by milestone between times looks at as many at most
where times do not rise, 101 at a time for a small page.

Wormholescan's pages by number begin within {vaas_skipped} results, and within {vaas_read} rows where a filter drops
most, 400 beyond; the cursor leads further. Operations are of at most {chains} source chains, 400 above; hours are
counted of a day of at most {hours} messages, 501 above. Of the event database's functions `recent` tells of at most
{groups} contracts and {recent} rows, sums and counts by date have at most {counts} numbers, addresses are summed of
at most {addresses} rows of days and told on dates in at most {dated} numbers, `findvalues` tells at most {found} rows,
501 above. Sums of all time read every day since Wormhole began. `permanode status` looks at {status} rows of VAAs.

## Time

A request has `api.deadline_s` seconds. Then its statement is interrupted, wherever it is, and it is answered with 503;
the next one finds the connection free. A long statement on the event loop holds up other requests of the same worker at
most so long.

## Sizes

An index has 1 to 64 bytes (TIP-6), a `state` at most 1024 characters. A body has the request's time to arrive in and at
most {body} bytes where a proof of inclusion is validated, {vaa} where a VAA is parsed, {asked} where a function of the
event database is asked, 413 above; other requests' are not read.

A proof of inclusion is made of all that its milestone references, read {at_once} rows at a time: at most {cone}
messages, 501 above. To reckon a path over so many took an eighth of a second of one core, over a thousand 1.3 ms.
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
