"""compose.yaml and the files that it mounts: valid by the specification, pinned, and without names of missing things.

It uses no container engine: commands are parsed by the project's command line, settings by its settings parser, and the
dashboard is compared with /metrics.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from api.http.metrics import Metrics
from api.lag import GAUGES, read_lags
from cli import main as cli
from cli.settings import read
from db.cassandra.address import parse_address
from etl.engine.settings import EtlSettings
from etl.engine.spark import jars
from tests.conftest import ROOT

FILES = ("compose.yaml", "compose.cassandra.yaml")
DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "permanode.json"
ONE_SHOT = {"keyspace", "migrate", "load"}
PINNED = re.compile(r"(?:[a-z0-9-]+/)?[a-z0-9-]+:v?\d+\.\d+\.\d+(?:-[a-z-]+)?")
"""NAME:X.Y.Z of the default registry."""

JSON = dict[str, Any]


def compose(name: str, **variables: str) -> JSON:
    """A file as compose reads it, with its variables filled in."""

    def fill(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else variables.get(match[1], match[2])

    text = re.sub(r"\$\$|\$\{(\w+):-([^}]*)\}", fill, (ROOT / name).read_text("utf-8"))
    assert "${" not in text
    found: JSON = yaml.safe_load(text)
    return found


def services(name: str = "compose.yaml") -> dict[str, JSON]:
    found: dict[str, JSON] = compose(name)["services"]
    return found


def words(command: str | list[str] | None) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else list(command or [])


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_valid_by_the_compose_specification(name: str) -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    command: list[str | Path] = [checker, "--builtin-schema", "vendor.compose-spec", ROOT / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_image_is_pinned_to_an_exact_version_of_the_default_registry() -> None:
    images = [service["image"] for name in FILES for service in services(name).values() if "image" in service]
    stages = set(re.findall(r"^FROM \S+ AS (\w+)", (ROOT / "Containerfile").read_text("utf-8"), re.MULTILINE))
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Containerfile").read_text("utf-8"), re.MULTILINE)
    assert images
    assert [image for image in [*images, *(set(bases) - stages)] if not PINNED.fullmatch(image)] == []
    for service in services().values():
        if build := service.get("build"):
            assert (ROOT / build["context"] / build["dockerfile"]).is_file()
            assert build["target"] in stages


def test_services_that_stay_are_watched_and_only_this_machine_reaches_their_ports() -> None:
    for name, service in services().items():
        assert ("image" in service) != ("build" in service), name
        assert ("healthcheck" in service) != (name in ONE_SHOT), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


@pytest.mark.parametrize("name", FILES)
def test_what_a_service_mounts_or_waits_for_is_there(name: str) -> None:
    known = services()
    for service, given in services(name).items():
        assert service in known
        for volume in given.get("volumes", []):
            source = volume.split(":")[0]
            there = (ROOT / source).exists() if source.startswith(".") else source in compose(name)["volumes"]
            assert there, volume
        assert given.get("depends_on", {}).keys() <= known.keys()
        assert set(given.get("profiles", [])) <= {"three", "load"}
    used = {volume.split(":")[0] for given in services(name).values() for volume in given.get("volumes", [])}
    assert compose(name)["volumes"].keys() <= used


def on_host(service: JSON, argument: str) -> str:
    """The file in this repository for a path inside the container."""
    for volume in service.get("volumes", []):
        source, target = volume.split(":")[:2]
        if source.startswith(".") and argument.startswith(target):
            return str(ROOT / source) + argument.removeprefix(target)
    return argument


def parse(arguments: list[str]) -> Any:
    """The arguments that `permanode ARGUMENTS` would run with; click's error if it would reject them."""
    group: Any = typer.main.get_command(cli.app)
    context = group.make_context("permanode", list(arguments))
    name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    return command.make_context(name, rest, parent=context)


def test_commands_of_our_images_are_our_commands() -> None:
    own = {name: given for name, given in services().items() if "build" in given and "entrypoint" not in given}
    assert own.keys() == {"migrate", "api", "load"}
    parsed = {
        name: parse([on_host(given, word) for word in words(given["command"])]).params for name, given in own.items()
    }
    assert parsed["api"]["host"] == "0.0.0.0"  # noqa: S104  inside its container
    assert parsed["load"]["sources"] == [ROOT / "sample" / "chrysalis"]


def test_an_unknown_command_would_be_rejected() -> None:
    for arguments in (["serv"], ["serve", "--hots", "0.0.0.0"], ["load", "--genesis", "/nowhere.json"]):  # noqa: S104
        with pytest.raises(Exception, match=r"No such|does not exist"):
            parse(arguments)


@pytest.mark.parametrize("name", FILES)
def test_settings_of_our_services_are_settings(name: str) -> None:
    variables = [
        given["environment"]
        for given in services(name).values()
        if any(key.startswith("PERMANODE_") for key in given.get("environment", {}))
    ]
    assert variables
    base = services()["api"]["environment"]
    for each in variables:
        store = read(None, base | each, {}).store()
        address = parse_address(store.url, store.network)
        assert (address.hosts, address.keyspace, address.rf) == (("store",), "permatest_1", 1)
        assert (address.scheme == "cassandra") == (name == "compose.cassandra.yaml")


def test_the_keyspace_is_the_one_that_the_store_names() -> None:
    filled = compose("compose.yaml", PERMANODE_KEYSPACE="other", PERMANODE_RF="3")["services"]
    statement = filled["keyspace"]["entrypoint"][-1]
    assert "EXISTS other WITH" in statement
    assert "'datacenter1': 3}" in statement
    address = parse_address(filled["api"]["environment"]["PERMANODE_STORE"], "n")
    assert (address.keyspace, address.rf) == ("other", 3)


def test_spark_runs_as_the_cluster_test_runs_it() -> None:
    tested = (ROOT / "tests/etl/writers/test_cluster.py").read_text("utf-8")
    started = {name: words(services()[name]["entrypoint"]) for name in ("spark-master", "spark-worker")}
    for program, kind in started.values():
        assert program == "spark-class"
        assert f'"{kind}"' in tested
    url = f"spark://{'spark-master'}:{words(services()['spark-master']['command'])[3]}"
    assert words(services()["spark-worker"]["command"])[-1] == url
    assert services()["load"]["environment"]["PERMANODE_ETL_MASTER"] == url
    lake = services()["load"]["environment"]["PERMANODE_ETL_LAKE"]
    assert services()["load"]["volumes"] == services()["spark-worker"]["volumes"], "executors read the archive too"
    assert lake.startswith("/data/")


def test_the_images_hold_what_they_copy_and_install() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copied = {source for line in re.findall(r"^COPY (.*)", text, re.MULTILINE) for source in line.split()[:-1]}
    assert [source for source in copied if not (ROOT / source).exists()] == []
    sent = set(re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE))
    assert copied == sent
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages | {"migrations", "pyproject.toml", "constraints.txt"} <= copied
    extras = {extra for group in re.findall(r"'\.\[([\w,]+)\]'", text) for extra in group.split(",")}
    for_work = project["project"]["optional-dependencies"].keys() - {"dev", "scylla"}
    assert extras == for_work, "scylla-driver installs the same module as cassandra-driver"


def test_the_image_that_loads_fetches_the_jars_that_loads_need(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []
    monkeypatch.setattr(jars, "resolve_jars", lambda cache, coordinates: fetched.append((cache, coordinates)))
    (code,) = re.findall(r"python -c '([^']+)'", (ROOT / "Containerfile").read_text("utf-8"))
    exec(code, {})  # noqa: S102 (text of this repository)
    assert fetched == [(jars.jar_cache(EtlSettings().jars), jars.CONNECTOR)]


def test_prometheus_queries_a_service_where_it_answers() -> None:
    found = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text("utf-8"))
    (job,) = found["scrape_configs"]
    ((target,),) = [each["targets"] for each in job["static_configs"]]
    host, port = target.split(":")
    assert services()[host]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert job["metrics_path"] in {route.path for route in Metrics(GAUGES, partial(read_lags, {})).routes()}
    mounted = [volume.split(":")[1] for volume in services()["prometheus"]["volumes"]]
    config = words(services()["prometheus"]["command"])[0].removeprefix("--config.file=")
    assert config in mounted


async def exposed() -> dict[str, set[str]]:
    """Sample names of /metrics after two responses, with their labels."""
    metrics = Metrics(GAUGES, partial(read_lags, {}))
    metrics.observe("getMessage", 200, 0.01)
    metrics.observe("getMessage", 503, 0.01)
    answer = await metrics.routes()[0].endpoint(Request({"type": "http"}))
    families = text_string_to_metric_families(answer.body.decode())
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


def queries() -> Iterator[str]:
    for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            yield target["expr"]


async def test_the_dashboard_queries_existing_metrics_and_labels() -> None:
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    there = await exposed() | {"up": {"job"}}
    functions = {"sum", "rate", "topk", "vector", "histogram_quantile", "by", "or"}
    requested = set()
    for query in queries():
        bare = re.sub(r'"[^"]*"|\[\$__rate_interval\]', "", query)
        labels = {name for group in re.findall(r"by \(([\w, ]+)\)", bare) for name in group.split(", ")}
        labels |= set(re.findall(r"(\w+)=", bare))
        names = set(re.findall(r"[a-z_]\w*", re.sub(r"\{[^}]*\}|by \([^)]*\)", "", bare))) - functions
        assert names, query
        assert names <= there.keys(), query
        assert all(labels <= there[name] | {"le"} for name in names), query
        if "up" in names:
            assert f'job="{job["job_name"]}"' in query
        requested |= names
    assert requested == {f"permanode_request_seconds_{part}" for part in ("count", "sum", "bucket")} | {"up"}


def test_grafana_finds_its_source_and_its_dashboard() -> None:
    (source,) = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text("utf-8"))[
        "datasources"
    ]
    (provider,) = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/permanode.yaml").read_text("utf-8"))[
        "providers"
    ]
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    uids = {panel["datasource"]["uid"] for panel in dashboard["panels"]}
    uids |= {target["datasource"]["uid"] for panel in dashboard["panels"] for target in panel["targets"]}
    assert uids == {source["uid"]}
    assert re.fullmatch(r"http://prometheus:9090", source["url"])
    grafana = services()["grafana"]
    mounts = {volume.split(":")[1]: volume.split(":")[0] for volume in grafana["volumes"]}
    assert mounts[provider["options"]["path"]] == "./deploy/grafana/dashboards"
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{provider['options']['path']}/{DASHBOARD.name}"
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in dashboard["panels"]]
    assert len(set(places)) == len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
