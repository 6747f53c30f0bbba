"""Behaviour of the command line itself; what commands do is tested with their packages. Help texts are docs/cli.md."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import pytest
from typer.testing import CliRunner

from api.version import VERSION
from cli import main as cli
from cli.bars import shown
from cli.options import parse_range
from cli.progress import report_lines, step_lines
from cli.serving import listen
from cli.settings import SettingsError
from db.intervals import Intervals
from db.store import NotFound, NotKeptHere
from etl.analytics.catch_up import STEPS
from etl.jobs import PIPELINES
from etl.report import Progress, Report, Stored
from etl.verification.audit import Audit, Proved
from ledger.selection import FORMS
from tests.conftest import ROOT


def permanode(*arguments: str, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    variables = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)


Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`permanode` in this process, for commands whose process adds nothing but its start."""
    for name in [*os.environ]:
        if name.startswith("PERMANODE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["permanode", *arguments])
            for name, value in environment.items():
                patched.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        code = ended.value.code
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return run


def test_help_loads_no_heavy_part() -> None:
    heavy = ("pyspark", "pyarrow", "fastapi", "uvicorn", "apsw", "cli.demo", "cli.serving")
    code = f"import cli.main, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_failure_is_one_line_on_stderr_and_exit_code_1(tmp_path: Path) -> None:
    done = permanode("status", cwd=tmp_path, PERMANODE_API_PROT="1", PERMANODE_STORE="nonsense")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("permanode: ")
    assert len(done.stderr.splitlines()) == 1


def test_debug_shows_where_it_failed(tmp_path: Path) -> None:
    done = permanode("--debug", "config", cwd=tmp_path, PERMANODE_API_PROT="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("permanode: PERMANODE_API_PROT")


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "cli.main", "--version"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"permanode {VERSION}\n")


def test_an_unknown_command_is_a_usage_error(tmp_path: Path) -> None:
    done = permanode("lode", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("pyspark", "[sail], or with Java [spark]"),
        ("pyspark.sql", "[sail], or with Java [spark]"),
        ("pysail", "[sail]"),
        ("pytest", "[dev]"),
        ("cassandra", "[cassandra]"),
        ("acsylla", "[acsylla]"),
    ],
)
def test_a_missing_extra_is_named_with_the_extra_that_installs_it(module: str, extra: str) -> None:
    line = cli.describe_error(ModuleNotFoundError(f"No module named '{module}'", name=module))
    assert line == f"{module} is not installed; install Permanode with the extra {extra}"


def test_an_object_that_is_not_found_is_a_whole_sentence() -> None:
    assert cli.describe_error(NotFound("milestone 51")) == "milestone 51 is not in this store"
    kept = "message ab is not kept here: this archive keeps a selection of messages"
    assert cli.describe_error(NotKeptHere(kept)) == kept


def test_an_error_of_many_lines_is_cut_to_its_first() -> None:
    assert cli.describe_error(RuntimeError("first\nsecond")) == "first … (--debug prints all lines)"
    assert cli.describe_error(RuntimeError()) == "RuntimeError"


@pytest.mark.parametrize(
    ("text", "span"),
    [(None, (None, None)), ("1:9", (1, 9)), ("0:1", (0, 1)), ("5:", (5, None)), (":5", (None, 5)), ("7", (7, 8))],
)
def test_a_range_is_two_ends_of_which_either_may_be_open(text: str | None, span: tuple[int | None, int | None]) -> None:
    assert parse_range(text) == span


@pytest.mark.parametrize("text", ["", "a:b", "1:2:3", "-1:5", "٣:4"])
def test_an_invalid_range_is_a_usage_error_that_names_option_value_and_form(text: str) -> None:
    result = CliRunner().invoke(cli.app, ["load", str(ROOT / "sample"), "--range", text])
    form = "FIRST:LAST, e.g. 1:100001 (you can omit either end), or one milestone"
    error = f"Error: Invalid value for --range: expected {form}; found {text!r}"
    assert (result.exit_code, result.output.splitlines()[-1]) == (2, error)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["load", str(ROOT / "sample"), "--range", "5:5"], "--range"),
        (["rebuild", "--range", "1:2", "--range", "9:3"], "--range"),
        (["rejects", "clear", "--range", "9:3"], "--range"),
        (["archive", "export", "--into", "x", "--range", "9:3"], "--range"),
        (["fetch", "--node", "http://127.0.0.1:9", "--into", "x", "--range", "9:3"], "--range"),
        (["analytics", "9:3"], "RANGE"),
        (["job", "analytics-days", "9:3"], "RANGE"),
        (["verify", "9:3"], "RANGE"),
    ],
)
def test_a_range_that_ends_before_it_begins_is_a_usage_error_that_names_option_and_value(
    command: list[str], name: str
) -> None:
    result = CliRunner().invoke(cli.app, [*STORE, *command])
    expected = f"expected FIRST below LAST, because LAST is excluded; found {command[-1]!r}"
    assert (result.exit_code, result.output.splitlines()[-1]) == (2, f"Error: Invalid value for {name}: {expected}")


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (
            "permatest-1",
            ["--prices", str(ROOT / "sample" / "wormhole" / "prices.csv")],
            "--prices applies to Wormhole networks; permatest-1 is an IOTA network",
        ),
        (
            "wormhole-mainnet",
            ["sample", "--force", "--range", "1:2"],
            "--force, --range apply to IOTA networks; wormhole-mainnet is a Wormhole network",
        ),
    ],
)
def test_options_of_the_other_kind_of_network_are_named(
    network: str, options: list[str], message: str, here: Run
) -> None:
    done = here("--store", "sqlite:///none", "--network", network, "load", *options)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"permanode: {message}"


def test_config_prints_every_setting_with_its_origin(tmp_path: Path, here: Run) -> None:
    (tmp_path / "permanode.toml").write_text("[api]\nport = 9000\n")
    done = here("--store", "sqlite:///x", "--network", "n", "config", "--json", PERMANODE_ETL_MASTER="local[3]")
    rows = {row["key"]: (row["value"], row["origin"]) for row in json.loads(done.stdout)}
    assert rows["api.port"] == (9000, "permanode.toml")
    assert rows["etl.master"] == ("local[3]", "PERMANODE_ETL_MASTER")
    assert ("sqlite:///x", "--store") in rows.values()
    table = here("config").stdout
    assert all(key in table for key in rows if key.startswith(("api.", "etl.")))


def test_a_named_settings_file_is_read_and_a_missing_one_rejected(tmp_path: Path, here: Run) -> None:
    (tmp_path / "other.toml").write_text("[api]\nport = 9001\n")
    by_flag = here("--config", "other.toml", "config")
    by_variable = here("config", PERMANODE_CONFIG="other.toml")
    assert "9001" in by_flag.stdout
    assert "9001" in by_variable.stdout
    missing = here("config", PERMANODE_CONFIG="nowhere.toml")
    assert missing.returncode == 1
    assert "nowhere.toml" in missing.stderr


@pytest.mark.parametrize(
    ("level", "expected"),
    [("INFO", [("decode", 0), ("tables", 3)]), ("DEBUG", [("decode", 0), ("tables", 3), ("decode", 50)])],
)
def test_progress_is_a_json_line_per_stage_without_a_terminal(
    level: str, expected: list[tuple[str, int]], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(level, "permanode"), shown() as report:
        report(Progress("decode", 0, 50, "milestones"))
        report(Progress("tables", 3, 17, "tables"))
        report(Progress("decode", 50, 50, "milestones"))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [(each["stage"], each["done"]) for each in map(json.loads, printed.err.splitlines())] == expected


def test_the_report_says_what_was_loaded_and_what_was_rejected() -> None:
    report = Report("run", milestones=50, complete=49, messages=848, rejects=1, rejected=["a.log:7: broken line"])
    lines = "\n".join(report_lines(report))
    assert "loaded      50 milestones: 49 complete, 1 incomplete\n" in lines
    assert "messages    848: " in lines
    assert "rejects     1\n  a.log:7: broken line\n" in lines
    assert lines.endswith("next        permanode rejects list")


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        ([], "permanode serve"),
        ([(7, 7), (9, 20)], "permanode fetch --node URL --range 7 --into FOLDER"),
        ([(9, 20)], "permanode fetch --node URL --range 9:21 --into FOLDER"),
    ],
)
def test_the_report_ends_with_what_the_store_has_and_misses_and_the_next_command(
    missing: list[tuple[int, int]], command: str
) -> None:
    lines = report_lines(Report("run", milestones=5, complete=5, stored=Stored(55, 0, missing)))
    assert lines[-1] == f"next        {command}"
    gaps = sum(last - first + 1 for first, last in missing)
    assert f"milestones  55 complete, 0 incomplete, {gaps} missing" in lines
    assert [each for each in lines if each.startswith("missing")] == (
        [f"missing     {command.split()[5] if len(missing) == 1 else '7, 9:21'}"] if missing else []
    )
    # Those of the requested range are first.
    lines = report_lines(Report("run", missing=[(30, 39)], stored=Stored(55, 0, missing)))
    assert (lines[1], lines[-1]) == (
        "not found   30:40", "next        permanode fetch --node URL --range 30:40 --into FOLDER",
    )  # fmt: skip
    # A range of a report is an argument of --range.
    if missing:
        assert parse_range(command.split()[5]) == (missing[0][0], missing[0][1] + 1)


def test_a_reports_text_cannot_control_the_terminal() -> None:
    report = Report("run", rejects=1, rejected=["a\x1b[2J.log:7: line: found \x07"])
    assert "  a\\x1b[2J.log:7: line: found \\x07" in report_lines(report)


def test_named_jobs_are_listed_and_another_is_answered_with_them(here: Run) -> None:
    listed = json.loads(here("job", "--json").stdout)
    jobs = listed["jobs"]
    assert [(step["pipeline"], step["name"]) for step in listed["steps"]] == [
        (protocol, step.name) for protocol, steps in PIPELINES.items() for step in steps
    ]
    assert [job["name"] for job in jobs] == ["analytics", *(f"analytics-{step.name}" for step in STEPS)]
    text = " ".join(here("job").stdout.split())
    assert all(part in text for job in jobs for part in (job["name"], job["meaning"], *job["tables"]))
    assert all(part in text for step in listed["steps"] for part in (step["name"], step["meaning"]))
    wrong = here("job", "analytics-weeks")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "analytics-weeks: no job; expected one of analytics, analytics-milestones" in wrong.stderr
    step = here("job", "decode")
    assert (step.returncode, step.stdout) == (1, "")
    assert "decode: a step of `permanode load`, not a job; expected one of analytics" in step.stderr


@pytest.mark.parametrize(("level", "code"), [("signed", 0), ("full", 3)])
def test_verify_passes_the_range_on_and_ends_with_3_below_the_level(
    level: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []

    def verify(*_: object, notify: object, **options: object) -> Audit:
        requested.append(options)
        proved = [Proved(3, 7, "full", ""), Proved(8, 8, "signed", "ab: in the cone of milestone 7 already")]
        return Audit(level, proved, [(1, 50)], below=int(level == "full"))

    monkeypatch.setattr("etl.runs.verify", verify)
    command = ["--store", "sqlite:///nowhere", "--network", "permatest-1", "verify"]
    done = CliRunner().invoke(cli.app, [*command, "3:9", "--level", level])
    assert requested == [{"first": 3, "last": 9, "level": level}]
    assert (done.exit_code, done.stdout.splitlines()) == (
        code,
        [f"{'3:8':<24}full", f"{'8':<24}{'signed':<12}ab: in the cone of milestone 7 already"],
    )
    reported = json.loads(CliRunner().invoke(cli.app, [*command, "--json"]).stdout)
    assert requested[1] == {"first": None, "last": None, "level": None}
    assert (reported["level"], reported["below"], reported["milestones"][0]) == (
        level,
        int(level == "full"),
        {"first": 3, "last": 7, "level": "full", "reason": ""},
    )


@pytest.mark.parametrize(
    ("wanted", "held", "text"),
    [
        (["100:200"], [(1, 50), (60, 60)], "the lake has none of the milestones 100:200; it has 1:51, 60"),
        (["51:"], [(1, 50)], "the lake has none of the milestones 51:; it has 1:51"),
        (["100:200"], [], "the lake has none of the milestones 100:200; it has none"),
        ([], [], "the lake has no milestones"),
    ],
)
def test_verify_of_milestones_that_the_lake_does_not_have_names_those_that_it_has(
    wanted: list[str], held: Intervals, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etl.runs.verify", lambda *_, **__: Audit("signed", [], held, 0))
    done = CliRunner().invoke(cli.app, [*STORE, "verify", *wanted])
    assert (done.exit_code, done.stdout) == (3, f"{text}\n")
    reported = CliRunner().invoke(cli.app, [*STORE, "verify", *wanted, "--json"])
    assert reported.exit_code == 3
    lake = [[*each] for each in held]
    assert json.loads(reported.stdout) == {"level": "signed", "milestones": [], "below": 0, "lake": lake}


STORE = ["--store", "sqlite:///nowhere", "--network", "permatest-1"]


@pytest.mark.parametrize(("arguments", "span"), [(["3:9"], (3, 9)), (["3:"], (3, None)), (["--all"], (None, None))])
def test_analytics_are_made_again_of_a_range_or_of_all(
    arguments: list[str], span: tuple[int | None, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []

    def analytics(*_: object, notify: object, **options: object) -> Report:
        requested.append(options)
        return Report("run")

    monkeypatch.setattr("etl.runs.analytics", analytics)
    done = CliRunner().invoke(cli.app, [*STORE, "analytics", *arguments])
    assert (done.exit_code, requested) == (0, [{"first": span[0], "last": span[1]}])


@pytest.mark.parametrize("arguments", [[], ["3:9", "--all"], ["9:3"], ["3-9"]])
def test_analytics_of_neither_or_of_both_are_a_usage_error(arguments: list[str]) -> None:
    done = CliRunner().invoke(cli.app, [*STORE, "analytics", *arguments])
    assert done.exit_code == 2
    assert "RANGE" in done.output


@pytest.mark.parametrize(("flags", "wanted"), [([], True), (["--analytics"], True), (["--no-analytics"], False)])
@pytest.mark.parametrize(("job", "sources"), [("load", [str(ROOT / "sample")]), ("rebuild", [])])
def test_loads_and_rebuilds_end_with_analytics_by_default(
    job: str, sources: list[str], flags: list[str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = []

    def run(*_: object, **options: object) -> Report:
        requested.append(options["analytics"])
        return Report("run")

    monkeypatch.setattr(f"etl.runs.{job}", run)
    done = CliRunner().invoke(cli.app, [*STORE, job, *sources, *flags])
    assert (done.exit_code, requested) == (0, [wanted])


def test_steps_are_reported_with_the_rows_of_each_table() -> None:
    report = Report("run")
    report.wrote("outputs", 5)
    with report.timed("days"):
        report.wrote("metrics_cache", 1200)
        report.wrote("outputs", 2)
    report.wrote("outputs", 1)
    assert [line.split() for line in step_lines(report)] == [
        ["step", "rows", "seconds"],
        ["days", "1,202", "0.0"],
        ["metrics_cache", "1,200"],
        ["outputs", "2"],
    ]


def test_stages_side_by_side_count_their_own_rows_and_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress of `days` (1 s to 6 s) and `ledger` (2 s to 4 s, then 9 s to 10 s), after Spark's start (0 s to 1 s)."""
    times = iter([0.0, 1.0, 1.0, 2.0, 4.0, 6.0, 9.0, 10.0])
    monkeypatch.setattr("etl.report.time", SimpleNamespace(perf_counter=lambda: next(times), time=lambda: 0.0))
    report = Report("run", messages=60)

    def ledger() -> None:
        with report.timed("ledger"):
            report.wrote("outputs", 3)

    with ThreadPoolExecutor(1) as pool:
        with report.timed("engine_start"):
            pass
        with report.timed("days"):
            report.wrote("outputs", 4)
            pool.submit(ledger).result()
            report.wrote("metrics_cache", 1)
        ledger()
    assert report.seconds == {"engine_start": 1.0, "days": 5.0, "ledger": 3.0}
    assert report.rows_by_stage == {
        "engine_start": {},
        "days": {"outputs": 4, "metrics_cache": 1},
        "ledger": {"outputs": 6},
    }
    assert report.rows_by_table == {"outputs": 10, "metrics_cache": 1}
    assert (report.elapsed_s, report.messages_per_second, report.as_json()["elapsed_s"]) == (6.0, 10.0, 6.0)


def test_config_prints_no_secret(here: Run) -> None:
    for arguments in (["config"], ["config", "--json"]):
        done = here(*arguments, PERMANODE_API_KEYS="hunter2")
        assert (done.returncode, "hunter2" in done.stdout, "(secret)" in done.stdout) == (0, False, True)


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    done = permanode("--version", cwd=tmp_path)
    version = declared.get("version") or VERSION
    assert (done.returncode, done.stdout, done.stderr) == (0, f"permanode {version}\n", "")


@pytest.mark.parametrize("command", [[], ["load"], ["lake", "compact"]])
def test_help_has_a_short_option(here: Run, command: list[str]) -> None:
    done = here(*command, "-h")
    assert (done.returncode, done.stdout) == (0, here(*command, "--help").stdout)
    assert done.stdout.startswith(f"Usage: {' '.join(['permanode', *command])} [OPTIONS]")


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_port_out_of_range_is_a_usage_error_that_names_the_flag(command: str) -> None:
    result = CliRunner().invoke(cli.app, [command, "--port", "99999"])
    assert result.exit_code == 2
    assert "--port" in result.output
    assert "65535" in result.output


def test_an_address_that_cannot_be_bound_names_the_option_to_change() -> None:
    with pytest.raises(SettingsError, match=r"^cannot listen on 256\.1\.1\.1 port 0: [^(]*; check --host$"):
        listen("256.1.1.1", 0)
    with closing(listen("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError) as rejected:
            listen("127.0.0.1", port)
    assert str(rejected.value) == (
        f"cannot listen on 127.0.0.1 port {port}: Address already in use; use another --port"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, 1), (signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_serve_prints_its_url_and_networks_and_ends_with_exit_code_0(
    tmp_path: Path, number: signal.Signals, workers: int
) -> None:
    networks = ("permatest-1", "wormhole-devnet")
    text = 'network = "permatest-1"\n' + "".join(f'[networks.{name}]\nurl = "sqlite:///{name}"\n' for name in networks)
    (tmp_path / "permanode.toml").write_text(text)
    for name in networks:
        assert permanode("--network", name, "migrate", cwd=tmp_path).returncode == 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--workers", str(workers)]
    started = subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; main()", "serve", *options],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background processes with SIGINT ignored, and so would pytest's.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert started.stdout is not None
    line = started.stdout.readline()
    # Connections wait until the server accepts them.
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/routes", timeout=60) as answer:
        assert answer.status == 200
    started.send_signal(number)
    rest, errors = started.communicate(timeout=60)
    assert line == f"serving permatest-1, wormhole-devnet on http://127.0.0.1:{port}\n", errors
    assert (rest, started.returncode) == ("", 0)
    assert "interrupted" not in errors
    assert "Traceback" not in errors


def test_bars_move_and_have_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage without a total pulses; one with a total shows rate and remaining time. All columns fit into 80 cells."""
    terminal, now = io.StringIO(), [0.0]
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("rich.console.monotonic", lambda: now[0])
    with shown() as report:
        report(Progress("sail", 0, None, "starting"))
        for done in range(0, 60, 10):
            now[0] += 2.0
            report(Progress("analytics", 1_000_000 + done, 1_000_100, "milestones"))
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue()).replace("\r", "\n").splitlines()
    (pulsing,) = {line for line in last[-2:] if "sail" in line}
    (moving,) = {line for line in last[-2:] if "analytics" in line}
    assert max(map(len, (pulsing, moving))) <= 80
    assert "0/?" in pulsing
    assert re.search(r"1000050/1000100 milestones 5\.0/s 0:00:10 00:10", moving), moving


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "advice"), [("config", ""), ("migrate", "; to complete it, run it again")])
def test_ctrl_c_is_one_line_and_exit_code_130(tmp_path: Path, command: str, advice: str) -> None:
    """While the command reads a pipe that nobody writes to."""
    pipe = tmp_path / "permanode.toml"
    os.mkfifo(pipe)
    started = subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; print('started', flush=True); main()", command],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start background processes with SIGINT ignored, and so would pytest's.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "started\n"
    # Opening waits for the reader.
    with pipe.open("wb"):
        started.send_signal(signal.SIGINT)
        output, errors = started.communicate(timeout=60)
    assert (started.returncode, output) == (130, "")
    assert errors == f"permanode: interrupted{advice}\n"


def test_an_invalid_filter_is_named_before_any_other_fault(here: Run, tmp_path: Path) -> None:
    (tmp_path / "comments.txt").write_text("# tag:HORNET\n")
    for filters, fault in (
        ("tags:HORNET", f"'tags:HORNET': a filter expected: {FORMS}"),
        ("@comments.txt", "at least one filter expected, such as tag:HORNET or address:iota1…"),
    ):
        for arguments in (["load", "nowhere"], ["purge"]):
            done = here(*arguments, "--keep", filters)
            assert (done.returncode, done.stdout, done.stderr) == (1, "", f"permanode: --keep: {fault}\n")
