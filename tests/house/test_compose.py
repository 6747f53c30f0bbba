"""The compose files, the images and what they mount: valid by the specification, pinned, naming only what exists.

It uses no container engine: commands are parsed by the project's command line, settings by its settings parser.
test_monitoring.py compares dashboard and alerts with /metrics.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from cli import main as cli
from cli.settings import read
from db.cassandra.address import parse_address
from etl.engine.settings import EtlSettings
from etl.engine.spark import jars
from etl.writers.cassandra_java import VERSION
from tests.conftest import ROOT

FILES = ("compose.yaml", "compose.cassandra.yaml", "compose.scylla.yaml")
CLUSTER = FILES[:2]
DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "permanode.json"
ONE_SHOT = {"keyspace", "migrate", "load"}
PINNED = re.compile(r"(?:[a-z0-9-]+/)?[a-z0-9-]+:v?\d+\.\d+\.\d+(?:-[a-z-]+)?@sha256:[0-9a-f]{64}")
"""NAME:X.Y.Z@DIGEST of the default registry."""

JSON = dict[str, Any]


def compose(name: str, **variables: str) -> JSON:
    """A file as compose reads it, with its variables filled in."""

    def fill(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else variables.get(match[1], match[2])

    text = re.sub(r"\$\$|\$\{(\w+):-([^}]*)\}", fill, (ROOT / name).read_text("utf-8"))
    assert "${" not in text
    found: JSON = yaml.safe_load(text)
    return found


def services(*names: str) -> dict[str, JSON]:
    """The services of some files (default: compose.yaml), merged as compose merges what these files contain."""
    found: dict[str, JSON] = {}
    for name in names or FILES[:1]:
        for service, given in compose(name)["services"].items():
            merged = found.setdefault(service, {})
            for key, value in given.items():
                is_merged = isinstance(value, dict) and isinstance(merged.get(key), dict)
                merged[key] = merged[key] | value if is_merged else value
    return found


def words(command: str | list[str] | None) -> list[str]:
    return shlex.split(command) if isinstance(command, str) else list(command or [])


@pytest.mark.thorough
@pytest.mark.parametrize("name", FILES)
def test_the_file_is_valid_by_the_compose_specification(name: str) -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    command: list[str | Path] = [checker, "--builtin-schema", "vendor.compose-spec", ROOT / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_image_is_pinned_to_a_version_and_digest_of_the_default_registry() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    (base,) = re.findall(r"^ARG PYTHON=(\S+)", text, re.MULTILINE)
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", text, re.MULTILINE))
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) <= stages | {"${PYTHON}"}
    foreign = {given["image"] for name in FILES for given in services(name).values() if "image" in given} - {
        "permanode"
    }
    assert len(foreign) == 4
    assert [image for image in (base, *foreign) if not PINNED.fullmatch(image)] == []
    for given in services(*CLUSTER).values():
        if build := given.get("build"):
            assert given["image"] == "permanode"
            assert (ROOT / build["context"] / build["dockerfile"]).is_file()
            assert build["target"] in stages


def test_cassandra_is_of_the_version_that_the_tests_run_on() -> None:
    assert services(*CLUSTER)["store"]["image"].startswith(f"cassandra:{VERSION}@")


def test_services_that_stay_are_watched_and_only_this_machine_reaches_their_ports() -> None:
    image_is_watched = "\nHEALTHCHECK" in (ROOT / "Containerfile").read_text("utf-8")
    for names in (FILES[:1], CLUSTER, FILES):
        for name, given in services(*names).items():
            check = given.get("healthcheck", {"of": "image"} if image_is_watched and "build" in given else {})
            is_watched = bool(check) and not check.get("disable")
            assert is_watched != (name in ONE_SHOT), name
            assert all(port.startswith("127.0.0.1:") for port in given.get("ports", [])), name


def test_our_containers_have_no_rights_and_write_to_volumes_only() -> None:
    for given in services(*CLUSTER).values():
        if "build" in given:
            assert (given["read_only"], given["cap_drop"]) == (True, ["ALL"])
            assert given["tmpfs"] == ["/tmp:exec"], "Spark loads libraries from there"  # noqa: S108
            assert given["security_opt"] == ["no-new-privileges:true"]
    text = (ROOT / "Containerfile").read_text("utf-8")
    finals = dict(re.findall(r"^FROM \S+ AS (serve|load)\n(.*?)(?=^FROM|\Z)", text, re.M | re.S))
    assert finals.keys() == {"serve", "load"}
    for part in finals.values():
        assert re.findall(r"^USER (\S+)", part, re.MULTILINE)[-1] == "10001"
        assert "pip install" not in part, "installed in a stage that is left behind"


@pytest.mark.parametrize("names", [FILES[:1], CLUSTER, FILES])
def test_what_a_service_mounts_or_waits_for_exists(names: tuple[str, ...]) -> None:
    known = services(*names)
    volumes = {volume for name in names for volume in compose(name).get("volumes", {})}
    used = set()
    for given in known.values():
        for volume in given.get("volumes", []):
            source = volume.split(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in volumes, volume
            used.add(source)
        assert given.get("depends_on", {}).keys() <= known.keys()
        assert set(given.get("profiles", [])) <= {"three", "load", "monitoring"}
    replaced = {"store", "store-2", "store-3"} if names == FILES else set()
    assert volumes - replaced <= used


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
    assert parsed["load"]["sources"] == [str(ROOT / "sample" / "chrysalis")]
    text = (ROOT / "Containerfile").read_text("utf-8")
    assert '\nENTRYPOINT ["permanode"]\n' in text
    assert parse(json.loads(re.findall(r"^CMD (.*)", text, re.MULTILINE)[-1])).params["host"] == "0.0.0.0"  # noqa: S104


def test_an_unknown_command_would_be_rejected() -> None:
    for arguments in (["serv"], ["serve", "--hots", "0.0.0.0"], ["load", "--genesis", "/nowhere.json"]):  # noqa: S104
        with pytest.raises(Exception, match=r"No such|does not exist"):
            parse(arguments)


@pytest.mark.parametrize(("names", "scheme"), [(FILES[:1], "sqlite"), (CLUSTER, "cassandra"), (FILES, "scylla")])
def test_settings_of_our_services_are_settings(names: tuple[str, ...], scheme: str) -> None:
    found = services(*names)
    for service in ("migrate", "api", "load"):
        settings = read(None, found[service]["environment"], {})
        store = settings.store()
        assert store.network == "permatest-1"
        assert settings.build("etl", EtlSettings).lake == "/data/lake"
        if scheme == "sqlite":
            assert store.url == "sqlite:////data/store"
            assert "data:/data" in found[service]["volumes"]
        else:
            address = parse_address(store.url, store.network)
            assert (address.scheme, address.hosts, address.keyspace, address.rf) == (
                scheme,
                ("store",),
                "permatest_1",
                1,
            )


def test_the_keyspace_is_the_one_that_the_store_names() -> None:
    filled = compose("compose.scylla.yaml", PERMANODE_KEYSPACE="other", PERMANODE_RF="3")["services"]
    statement = filled["keyspace"]["entrypoint"][-1]
    assert "EXISTS other WITH" in statement
    assert "'datacenter1': 3}" in statement
    for file in FILES[1:]:
        given = compose(file, PERMANODE_KEYSPACE="other", PERMANODE_RF="3")["services"]["api"]
        address = parse_address(given["environment"]["PERMANODE_STORE"], "n")
        assert (address.keyspace, address.rf) == ("other", 3)


def test_spark_runs_as_the_cluster_test_runs_it() -> None:
    tested = (ROOT / "tests/spark_cluster.py").read_text("utf-8")
    found = services(*CLUSTER)
    started = {name: words(found[name]["entrypoint"]) for name in ("spark-master", "spark-worker")}
    for program, kind in started.values():
        assert program == "spark-class"
        assert f'"{kind}"' in tested
    url = f"spark://{'spark-master'}:{words(found['spark-master']['command'])[3]}"
    assert words(found["spark-worker"]["command"])[-1] == url
    assert found["load"]["environment"]["PERMANODE_ETL_MASTER"] == url
    assert found["load"]["volumes"] == found["spark-worker"]["volumes"], "executors read the archive too"
    assert found["load"]["environment"]["PERMANODE_ETL_LAKE"].startswith("/data/")


def copied_sources() -> set[str]:
    """The files and folders of this repository that the Containerfile copies."""
    text = (ROOT / "Containerfile").read_text("utf-8")
    return {source for line in re.findall(r"^COPY (?!--from)(.*)", text, re.M) for source in line.split()[:-1]}


def test_the_images_hold_what_they_copy_and_install() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copied = copied_sources()
    assert [source for source in copied if not (ROOT / source).exists()] == []
    sent = set(re.findall(r"^!(\S+)", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE))
    assert copied == sent
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {name.rstrip("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    files = {file for each in project["tool"]["setuptools"]["data-files"].values() for file in each}
    files |= {project["project"]["readme"], *project["project"]["license-files"]}
    assert packages | files | {"pyproject.toml", "deploy/requirements"} <= copied
    installed = re.findall(r"pip install .*--require-hashes --requirement deploy/requirements/(\w+)\.txt", text)
    assert installed == ["build", "serve", "load"]
    assert len(re.findall(r"pip install", text)) == len(installed) + 1, "and the project itself, without dependencies"


@pytest.mark.thorough
def test_the_wheel_builds_from_what_the_images_copy(tmp_path: Path) -> None:
    for source in copied_sources():
        target = tmp_path / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target)
    command = [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_wheel('.')"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("*.whl"))) == 1


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
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in services()["prometheus"]["volumes"]}
    config = words(services()["prometheus"]["command"])[0].removeprefix("--config.file=")
    assert mounted[config] == "./deploy/prometheus.yaml"
    (rules,) = found["rule_files"]
    assert mounted[str(Path(config).parent / rules)] == "./deploy/prometheus-alerts.yaml"


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
