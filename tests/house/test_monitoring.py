"""/metrics of a real server over the shipped samples of both eras and Wormhole, and the dashboard and the alerts, which
use exactly what it exports.

Expected values come from the samples' own files, which other programs wrote, and from `permanode status`.
"""

import gzip
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from cli import demo
from db import schema
from db.admin.migrate import migrate
from db.connect import open_store
from db.queries.head import HEAD
from db.queries.loads import BEGUN
from tests.api.oracle import Oracle
from tests.api.processes import permanode_of
from tests.api.stardust import StardustLedger
from tests.conftest import ROOT
from tests.reference import ORACLE

pytestmark = pytest.mark.loads

DASHBOARD = ROOT / "deploy" / "grafana" / "dashboards" / "permanode.json"
RULES = ROOT / "deploy" / "prometheus-alerts.yaml"
PAGE = ROOT / "docs" / "operations.md"

CHRYSALIS, STARDUST, WORMHOLE = (each.network for each in demo.SAMPLES)
HEAD_INDEX, BEGUN_AT = 60, 1_700_000_000.5
"""What a follower and a killed load note in the store of STARDUST."""

JSON = dict[str, Any]


class Scrape(NamedTuple):
    """A response of /metrics: values by name and labels, the type of each metric, and the `permanode status --json` of
    each network.
    """

    values: dict[str, dict[frozenset[tuple[str, str]], float]]
    types: dict[str, str]
    status: dict[str, JSON]

    def of(self, network: str) -> dict[str, float]:
        """The gauges of a network, as NAME or NAME LABEL."""
        found = {}
        for name, values in self.values.items():
            for labels, value in values.items():
                own = dict(labels)
                if own.pop("network", None) == network:
                    found[" ".join([name.removeprefix("permanode_"), *own.values()])] = value
        return found


@pytest.fixture(scope="module")
def scrape(tmp_path_factory: pytest.TempPathFactory) -> Scrape:
    folder = tmp_path_factory.mktemp("monitored")
    settings = demo.demo_settings(folder, None)
    for network in settings.networks:
        migrate(settings.store(network))
    demo.load(demo.SAMPLES, settings, folder / "lake")
    store = open_store(settings.store(STARDUST), writable=True)
    with store.batch() as batch:
        notes = [(HEAD, json.dumps([HEAD_INDEX, 1.0, None])), (BEGUN, str(BEGUN_AT))]
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, notes)
    store.close()
    config = folder / "permanode.toml"
    config.write_text(
        f'network = "{CHRYSALIS}"\napi.workers = 2\n' + "".join(map(section, demo.SAMPLES, repeat(folder)))
    )
    with permanode_of(folder / "log", PERMANODE_CONFIG=str(config)) as base:
        httpx.get(f"{base}/api/v1/info").raise_for_status()
        httpx.get(f"{base}/api/v1/messages/abc")
        text = httpx.get(f"{base}/metrics").raise_for_status().text
    values: dict[str, Any] = defaultdict(dict)
    types = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            types[sample.name] = family.type
            values[sample.name][frozenset(sample.labels.items())] = sample.value
    return Scrape(values, types, {network: status(settings.store(network)) for network in settings.networks})


def section(sample: demo.Sample, folder: Path) -> str:
    """The section of a sample's network in the settings file."""
    given = {"url": demo.store_of(sample, folder, None), **dict(sample.given)}
    return f"[networks.{sample.network}]\n" + "".join(f'{name} = "{value}"\n' for name, value in given.items())


def status(store: Any) -> JSON:
    command = [Path(sys.executable).with_name("permanode"), "--store", store.url, "--network", store.network]
    done = subprocess.run([*command, "status", "--json"], capture_output=True, check=True)
    found: JSON = json.loads(done.stdout)
    return found


def size(intervals: list[list[int]]) -> int:
    return sum(last - first + 1 for first, last in intervals)


@pytest.mark.parametrize("network", [CHRYSALIS, STARDUST])
def test_gauges_of_an_iota_network_are_what_its_sample_contains(scrape: Scrape, network: str) -> None:
    oracle: Any = Oracle.read(ORACLE) if network == CHRYSALIS else StardustLedger.read()
    expected, found = oracle.expected, scrape.of(network)
    newest = oracle.milestones[-1]["milestone"]
    level = "signed"
    counts = {
        "store_up": 1,
        "newest_milestone": newest["index"],
        "milestones complete": expected["milestones"],
        "milestones incomplete": 0,
        "milestones missing": 0,
        "gaps": 0,
        **{f"proved_milestones {each}": 0 for each in ("believed", "merkle", "signed", "full")},
        f"proved_milestones {level}": expected["milestones"],
        "messages": expected["counts"]["referenced"],
        "ledger_index": newest["index"],
        "unreconciled_milestones": 0,
        "rejects": 0,
        "load_exit_code": 0,
        "load_milestones": expected["milestones"],
        "load_messages": expected["counts"]["referenced"],
    }
    assert {name: found[name] for name in counts} == counts
    assert abs(time.time() - newest["timestamp"] - found["newest_milestone_age_seconds"]) < 600
    assert 0 < time.time() - found["load_end_timestamp_seconds"] < 600
    assert 0 < found["load_duration_seconds"] < 300
    of_follower = {"milestones_behind": HEAD_INDEX - newest["index"], "load_start_timestamp_seconds": BEGUN_AT}
    assert {name: found.get(name) for name in of_follower} == (
        of_follower if network == STARDUST else dict.fromkeys(of_follower)
    )


def test_gauges_of_a_wormhole_network_are_what_its_sample_contains(scrape: Scrape) -> None:
    """tests/api/wormhole/test_wormhole_status.py compares the numbers of the status with other records."""
    found, ids, newest = scrape.of(WORMHOLE), set(), 0
    with gzip.open(demo.WORMHOLE.files / "vaas.jsonl.gz") as lines:
        for line in lines:
            vaa = bytes.fromhex(json.loads(line)["hex"])
            # Version, guardian set, number of signatures of 66 bytes; then timestamp, nonce, and the id.
            body = vaa[6 + 66 * vaa[5] :]
            ids.add(body[8:50])
            newest = max(newest, int.from_bytes(body[:4], "big"))
    assert found["messages"] + found["unverified_vaas"] == found["load_messages"] == len(ids)
    assert abs(time.time() - newest - found["newest_vaa_age_seconds"]) < 600
    assert (found["store_up"], found["rejects"], found["load_exit_code"]) == (1, 0, 0)
    assert not [name for name in found if name.startswith(("newest_milestone", "milestones", "proved", "ledger"))]


@pytest.mark.parametrize("network", [CHRYSALIS, STARDUST, WORMHOLE])
def test_gauges_are_the_numbers_of_the_status(scrape: Scrape, network: str) -> None:
    found, given = scrape.of(network), scrape.status[network]
    expected = {
        "store_size_bytes": given["space"]["used"],
        "rejects": given["reject_count"],
        "load_end_timestamp_seconds": given["loads"]["ended"]["ended_at"],
    }
    if network == WORMHOLE:
        vaas = given["vaas"]
        expected |= {"gaps": vaas["gap_count"], "missing_sequences": vaas["missing"], "messages": vaas["verified"]}
        expected |= {"unverified_vaas": sum(count for name, count in vaas["verdicts"].items() if name != "verified")}
        assert found["gaps"] > 0
    else:
        expected |= {f"milestones {state}": size(given[state]) for state in ("complete", "incomplete", "missing")}
        expected |= {f"proved_milestones {level}": size(held) for level, held in given["proved"].items()}
        expected |= {"newest_milestone": given["newest"]["milestone_index"], "ledger_index": given["ledger_index"]}
    assert {name: found[name] for name in expected} == expected


FUNCTIONS = {"sum", "min", "max", "rate", "delta", "time", "topk", "vector", "histogram_quantile"}
WORDS = {"by", "or", "and", "on"}


def requested(expression: str) -> tuple[set[str], set[str]]:
    """The metrics and the labels in an expression of PromQL."""
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", expression)
    grouped = [name for group in re.findall(r"\b(?:by|on) \(([\w, ]+)\)", bare) for name in group.split(", ")]
    labels = {*grouped, *re.findall(r"(\w+)=", bare)}
    rest = re.sub(r"\{[^}]*\}|\b(?:by|on) \([^)]*\)", "", bare)
    names = set(re.findall(r"\b[a-z_]\w*", re.sub(r"\b[\d.]+(e\d+)?\b", "", rest)))
    return names - FUNCTIONS - WORDS, labels


def panels() -> list[JSON]:
    found: list[JSON] = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return found


def rules() -> list[JSON]:
    return [rule for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*shown, *(rule["expr"] for rule in rules())]


OF_PROMETHEUS = {"up": {"job"}}
"""What Prometheus itself adds about a target; it also adds the label `instance` to all metrics."""


def test_dashboard_and_alerts_use_metrics_and_labels_that_a_server_exports(scrape: Scrape) -> None:
    exported = {name: {label for labels in values for label, _ in labels} for name, values in scrape.values.items()}
    for expression in expressions():
        names, labels = requested(expression)
        assert names, expression
        known = exported | OF_PROMETHEUS
        assert names <= known.keys(), expression
        assert labels <= {"instance"}.union(*(known[name] for name in names)), expression


def test_every_exported_metric_is_in_the_dashboard_and_described_on_the_page(scrape: Scrape) -> None:
    shown = {name for panel in panels() for target in panel["targets"] for name in requested(target["expr"])[0]}
    # `_created` of a histogram is the time at which a server began to count.
    exported = {name for name in scrape.values if not name.endswith("_created")}
    assert exported - shown == set()
    page = PAGE.read_text("utf-8")
    gauges = {name for name, kind in scrape.types.items() if kind == "gauge" and name in exported}
    assert gauges | {"permanode_request_seconds"} == set(re.findall(r"^\| `(permanode_\w+)", page, re.MULTILINE))


def test_alerts_have_what_prometheus_requires_and_a_row_on_the_page() -> None:
    groups = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
    assert len({group["name"] for group in groups}) == len(groups)
    assert all(group.keys() == {"name", "rules"} for group in groups)
    for rule in rules():
        assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}, rule
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary"}
        used = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert used <= {"instance", "network"}
        if "sum by" in rule["expr"]:
            assert used <= requested(rule["expr"])[1]
    alerts = [rule["alert"] for rule in rules()]
    assert re.findall(r"^\| (Permanode\w+) \|", PAGE.read_text("utf-8"), re.MULTILINE) == alerts
    assert len(set(alerts)) == len(alerts)


def test_panels_name_their_unit_and_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["fieldConfig"]["defaults"]["unit"]
        names = {name for target in panel["targets"] for name in requested(target["expr"])[0]}
        units = {"s" for name in names if name.endswith(("_seconds", "_seconds_bucket")) and "timestamp" not in name}
        units |= {"bytes" for name in names if name.endswith("_bytes")}
        units |= {"dateTimeFromNow" for name in names if name.endswith("_timestamp_seconds")}
        assert units <= {panel["fieldConfig"]["defaults"]["unit"]}, panel["title"]
