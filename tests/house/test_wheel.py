"""The wheel and the sdist, and that the core and each extra start what they are for.

An environment contains the wheel and links to the distributions that its metadata requires, so a requirement that is
missing there is missing in it. `permanode test --slow` also installs them with pip, pipx and uv.
"""

import json
import os
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, distribution
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from api.version import VERSION
from bench.servers import free_port
from tests.cassandra_server import CassandraServer
from tests.conftest import ROOT

pytestmark = pytest.mark.thorough

PACKAGES = ("api", "cli", "db", "etl", "ledger", "migrations", "sample")
STARTED_S = 60.0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("tree")
    for name in tracked():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    command: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.suffix: path for path in folder.iterdir()}


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_the_wheel_contains_each_file_of_its_packages(built: dict[str, Path]) -> None:
    names = zipfile.ZipFile(built[".whl"]).namelist()
    own = {name for name in tracked() if name.partition("/")[0] in PACKAGES}
    assert len(own) > 400
    assert {name for name in names if ".dist-info/" not in name and ".data/" not in name} == own


def test_the_wheel_contains_the_man_page(built: dict[str, Path]) -> None:
    wheel = zipfile.ZipFile(built[".whl"])
    (name,) = (each for each in wheel.namelist() if each.endswith(".data/data/share/man/man1/permanode.1"))
    assert wheel.read(name) == (ROOT / "docs" / "permanode.1").read_bytes()


def test_the_sdist_contains_what_a_wheel_is_built_from(built: dict[str, Path]) -> None:
    """The wheel of `built` was built from it."""
    with tarfile.open(built[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "db/admin/sizes.json"} <= names


class Environment:
    """An environment with the wheel, and the closure of its requirements with some extras."""

    def __init__(self, folder: Path, wheel: Path, extras: str) -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / "bin" / "python"
        site = next((folder / "lib").glob("python*")) / "site-packages"
        zipfile.ZipFile(wheel).extractall(site)  # noqa: S202  (built here)
        (metadata,) = site.glob("*.dist-info")
        found: dict[str, Distribution] = {}
        self._close(Distribution.at(metadata), set(extras.split()), found, set())
        for each in found.values():
            for file in each.files or ():
                source = Path(str(each.locate_file(file)))
                if ".." not in file.parts and "__pycache__" not in file.parts and source.exists():
                    link(source, site / file)
                    if source.suffix == ".py" and compiled(source).exists():
                        link(compiled(source), compiled(site / file))

    def _close(self, one: Distribution, extras: set[str], found: dict[str, Distribution], seen: set[Any]) -> None:
        for text in one.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
                continue
            key = canonicalize_name(requirement.name), frozenset(requirement.extras)
            if key in seen:
                continue
            seen.add(key)
            found[key[0]] = distribution(requirement.name)
            self._close(found[key[0]], set(requirement.extras), found, seen)

    def run(self, *arguments: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        """`permanode ARGUMENTS` in this environment."""
        command: list[str | Path] = [self.python, "-I", "-c", "from cli.main import main; main()", *arguments]
        clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), **environment}
        return subprocess.run(command, env=clean, cwd=cwd, capture_output=True, text=True, check=False)

    @contextmanager
    def serving(self, *arguments: str, cwd: Path, **environment: str) -> Iterator[str]:
        """`permanode ARGUMENTS serve`, at a URL, until the block ends."""
        port = free_port()
        command: list[str | Path] = [self.python, "-I", "-c", "from cli.main import main; main()", *arguments]
        command += ["serve", "--port", str(port)]
        clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), **environment}
        process = subprocess.Popen(command, env=clean, cwd=cwd, stderr=subprocess.PIPE, text=True)
        try:
            wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.communicate(timeout=30)


def link(source: Path, target: Path) -> None:
    """Makes a file available at another place, unless there is a file already."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        is_near = source.stat().st_dev == target.parent.stat().st_dev
        os.link(source, target) if is_near else target.symlink_to(source)


def compiled(module: Path) -> Path:
    """The file of the compiled module, without which Python compiles it again."""
    return Path(cache_from_source(str(module)))


def wait_for(port: int, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + STARTED_S
    while True:
        assert process.poll() is None, process.communicate()[1]
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/routes", timeout=5).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  (loopback)
        return json.load(answer)


@pytest.fixture
def environment(built: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Environment:
    return Environment(tmp_path / "environment", built[".whl"], request.param)


@pytest.mark.parametrize("environment", [""], indirect=True)
def test_the_core_serves_a_new_store_and_names_the_extra_of_other_commands(
    environment: Environment, tmp_path: Path
) -> None:
    given = ("--store", f"sqlite:///{tmp_path}/store", "--network", "permatest-1")
    assert environment.run("--version", cwd=tmp_path).returncode == 0
    done = environment.run(*given, "migrate", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert environment.run(*given, "status", cwd=tmp_path).returncode == 0
    with environment.serving(*given, cwd=tmp_path) as url:
        assert "core/v2" in json.dumps(get(f"{url}/api/routes"))
    done = environment.run(*given, "load", str(ROOT / "sample" / "chrysalis"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "is not installed; install Permanode with the extra [sail], or with Java [spark]"
    )
    for command in ("test", "bench codec", "docs", "dependencies lock", "dependencies sbom x", "dependencies audit"):
        done = environment.run(*command.split(), cwd=tmp_path)
        assert (done.returncode, "source tree" in done.stderr) == (1, True)


@pytest.mark.loads
@pytest.mark.parametrize("environment", ["sail"], indirect=True)
def test_the_embedded_engine_loads_the_sample_that_the_wheel_contains(environment: Environment, tmp_path: Path) -> None:
    """Spark takes ten times as long here, so a slow test below runs it."""
    given = ("--store", f"sqlite:///{tmp_path}/store", "--network", "permatest-1", "--lake", str(tmp_path / "lake"))
    sample = next(environment.python.parents[1].glob("lib/*/site-packages/sample/chrysalis"))
    assert environment.run(*given, "migrate", cwd=tmp_path).returncode == 0
    done = environment.run(
        *given,
        "load",
        str(sample),
        "--genesis",
        str(sample / "genesis.json"),
        cwd=tmp_path,
        PERMANODE_ETL_ENGINE="sail",
    )
    assert done.returncode in (0, 3), done.stderr
    with environment.serving(*given, cwd=tmp_path) as url:
        assert get(f"{url}/api/v1/milestones/50")["data"]["index"] == 50


@pytest.mark.cassandra
@pytest.mark.parametrize(
    ("environment", "reader"),
    [("cassandra", ""), pytest.param("cassandra acsylla", "acsylla", marks=pytest.mark.slow)],
    indirect=["environment"],
)
def test_a_cluster_is_migrated_and_served(
    environment: Environment, reader: str, cassandra: CassandraServer, tmp_path: Path
) -> None:
    url = f"cassandra://{cassandra.contact}/wheel_{reader or 'driver'}?rf=1"
    given = ("--store", url, "--network", "permatest-1")
    done = environment.run(*given, "migrate", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with environment.serving(*given, cwd=tmp_path, PERMANODE_STORE_READER=reader) as base:
        assert "core/v2" in json.dumps(get(f"{base}/api/routes"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra", ["", "[spark]", "[sail]", "[cassandra]", "[scylla]", "[cassandra,acsylla]", "[granian]"]
)
def test_pip_installs_it_into_an_empty_environment(built: dict[str, Path], extra: str, tmp_path: Path) -> None:
    """From the package registry, in the pinned versions."""
    venv.create(tmp_path / "new", with_pip=True)
    pip: list[str | Path] = [tmp_path / "new" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "--constraint", ROOT / "constraints.txt", f"{built['.whl']}{extra}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    given = ["--store", f"sqlite:///{tmp_path}/store", "--network", "permatest-1", "--lake", str(tmp_path / "lake")]
    program = tmp_path / "new" / "bin" / "permanode"
    loading = ["load", str(ROOT / "sample" / "chrysalis")] if extra in ("[spark]", "[sail]") else ["status"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    if extra in ("[spark]", "[sail]"):
        environment["PERMANODE_ETL_ENGINE"] = extra.strip("[]")
    for command in (["migrate"], loading):
        done = subprocess.run(
            [program, *given, *command], env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode in (0, 3), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("runner", [["pipx", "run", "--spec"], ["uvx", "--from"]], ids=["pipx", "uvx"])
def test_pipx_and_uvx_run_it(built: dict[str, Path], runner: list[str], tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    environment = os.environ | {"HOME": str(tmp_path), "PIPX_HOME": str(tmp_path / "pipx")}
    command: list[str | Path] = [tools / runner[0], *runner[1:], built[".whl"], "permanode", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"permanode {VERSION}\n"
