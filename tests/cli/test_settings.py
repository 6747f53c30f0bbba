"""Settings: sources, types, names, and rejected values."""

import re
from pathlib import Path

import pytest

from api.app import ApiSettings
from cli.settings import SettingsError, read, variable

Flags = dict[str, tuple[str, object]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "permanode.toml"
    path.write_text(
        'network = "b"\n[networks.a]\nurl = "sqlite:///a"\n[networks.b]\nurl = "sqlite:///b"\nchunk_size = 7\n'
        "[api]\nport = 9000\naccess_log = true\n"
    )
    return path


def rejection(file: Path | None = None, environment: dict[str, str] | None = None, flags: Flags | None = None) -> str:
    with pytest.raises(SettingsError) as rejected:
        read(file, environment or {}, flags or {}).table()
    return str(rejected.value)


def test_a_byte_order_mark_at_the_start_of_a_file_is_skipped(file: Path) -> None:
    file.write_text(file.read_text("utf-8"), "utf-8-sig")
    assert read(file, {}, {}).build("api", ApiSettings).port == 9000


def test_each_layer_wins_over_the_one_below(file: Path) -> None:
    def port(environment: dict[str, str], flags: Flags, source: Path | None = file) -> int:
        return read(source, environment, flags).build("api", ApiSettings).port

    assert port({}, {}, None) == 8000
    assert port({}, {}) == 9000
    assert port({"PERMANODE_API_PORT": "9001"}, {}) == 9001
    assert port({"PERMANODE_API_PORT": "9001"}, {"api.port": ("--port", 9002)}) == 9002
    assert port({"PERMANODE_API_PORT": "9001"}, {"api.port": ("--port", None)}) == 9001


def test_zero_is_a_value(file: Path) -> None:
    assert read(file, {}, {"api.port": ("--port", 0)}).build("api", ApiSettings).port == 0


def test_the_table_says_where_each_value_came_from(file: Path) -> None:
    rows = {row.key: row for row in read(file, {"PERMANODE_STORE": "sqlite:///x"}, {"api.port": ("--port", 1)}).table()}
    assert (rows["network"].value, rows["network"].origin) == ("b", str(file))
    assert (rows["networks.b.url"].value, rows["networks.b.url"].origin) == ("sqlite:///x", "PERMANODE_STORE")
    assert (rows["networks.a.url"].value, rows["networks.a.url"].origin) == ("sqlite:///a", str(file))
    assert (rows["networks.b.chunk_size"].value, rows["networks.b.chunk_size"].origin) == (7, str(file))
    assert (rows["api.port"].value, rows["api.port"].origin) == (1, "--port")
    assert rows["api.host"].origin == "default"
    assert rows["etl.master"].origin == "default"


def test_the_selected_network_is_the_one_named(file: Path) -> None:
    assert read(file, {}, {}).store().network == "b"
    assert read(file, {"PERMANODE_NETWORK": "a"}, {}).store().url == "sqlite:///a"
    assert read(file, {"PERMANODE_NETWORK": "a"}, {"network": ("--network", "b")}).store().url == "sqlite:///b"
    assert read(file, {}, {}).store("a").network == "a"


def test_a_store_and_a_network_define_one_without_a_file() -> None:
    settings = read(None, {"PERMANODE_STORE": "sqlite:///x"}, {"network": ("--network", "new")})
    assert settings.networks == ("new",)
    assert (settings.store().network, settings.store().url) == ("new", "sqlite:///x")


def test_the_only_network_of_a_file_needs_no_naming(tmp_path: Path) -> None:
    path = tmp_path / "one.toml"
    path.write_text('[networks.only]\nurl = "sqlite:///o"\n')
    assert read(path, {}, {}).store().network == "only"


def test_several_networks_need_one_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text('[networks.a]\nurl = "sqlite:///a"\n[networks.b]\nurl = "sqlite:///b"\n')
    assert rejection(path) == f"{path}: several networks (a, b) but no `network`: pass --network NAME, or set it"


def test_a_network_that_the_file_does_not_define_is_rejected(file: Path) -> None:
    assert rejection(file, {"PERMANODE_NETWORK": "c"}) == "PERMANODE_NETWORK: unknown network c; expected one of a, b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[api]\nprot = 1\n", "{file}: unknown setting api.prot; did you mean port?"),
        ("[apy]\nport = 1\n", "{file}: unknown section apy; did you mean api?"),
        ('networ = "a"\n', "{file}: unknown setting networ; did you mean network?"),
        ("chunk_size = 1\n", "{file}: unknown setting chunk_size; expected one of api, etl, network, networks"),
        ('[networ.a]\nurl = "x"\n', "{file}: unknown section networ; did you mean networks?"),
        ('[network.a]\nurl = "x"\n', "{file}: unknown section network; did you mean networks?"),
        (
            '[networks.a]\nurl = "x"\nchunk_sise = 1\n',
            "{file}: unknown setting networks.a.chunk_sise; did you mean chunk_size?",
        ),
        ('[networks.a]\nurl = "x"\nnetwork = "b"\n', "{file}: unknown setting networks.a.network"),
        ('[api]\nport = "9000"\n', "{file}: api.port must be an integer, not '9000'"),
        ("[api]\nport = true\n", "{file}: api.port must be an integer, not True"),
        ("[api]\naccess_log = 1\n", "{file}: api.access_log must be true or false, not 1"),
        ("network = 1\n", "{file}: network must be text, not 1"),
        ("api = 1\n", "{file}: api must be a table, not 1"),
        ("[networks]\na = 1\n", "{file}: networks.a must be a table, not 1"),
        ("[api\n", "{file}: invalid TOML: "),
        ("[api]\ndeadline_s = nan\n", "{file}: api.deadline_s must be a number, not nan"),
        ("[api]\ndeadline_s = inf\n", "{file}: api.deadline_s must be a number, not inf"),
        ('[api]\nkeys = "hunter2"\n', "{file}: api.keys must be a list of strings"),
        ("[api]\nkeys = []\n", "{file}: api.keys is empty: set it to a secret, or leave it out"),
        ('[api]\nkeys = ["a", " "]\n', "{file}: api.keys is empty: set it to a secret, or leave it out"),
        ("[api]\njwt_secret = 123456789\n", "{file}: api.jwt_secret must be text or unset"),
        ('[networks.a]\nurl = "x"\npassword = ""\n', "{file}: networks.a.password is empty: set it to a secret"),
    ],
)
def test_what_does_not_fit_in_the_file_is_rejected_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "permanode.toml"
    path.write_text(text)
    assert rejection(path).startswith(message.format(file=path))


@pytest.mark.parametrize(("encoding", "line"), [("latin-1", 2), ("utf-16", 1)])
def test_a_file_that_is_not_utf_8_is_rejected_by_name_and_line(tmp_path: Path, encoding: str, line: int) -> None:
    path = tmp_path / "permanode.toml"
    path.write_text("[networks.a]\nurl = 'sqlite:///Zürich'\n", encoding)
    assert rejection(path) == f"{path}: expected TOML in UTF-8; line {line} contains other bytes"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PERMANODE_API_PORT", "many", "PERMANODE_API_PORT: api.port must be an integer, not 'many'"),
        (
            "PERMANODE_API_ACCESS_LOG",
            "yes",
            "PERMANODE_API_ACCESS_LOG: api.access_log must be true or false",
        ),
        ("PERMANODE_API_PROT", "1", "PERMANODE_API_PROT: unknown setting api.prot; did you mean port?"),
        ("PERMANODE_API_DEADLINE_S", "nan", "PERMANODE_API_DEADLINE_S: api.deadline_s must be a number, not 'nan'"),
        ("PERMANODE_API_DEADLINE_S", "-inf", "PERMANODE_API_DEADLINE_S: api.deadline_s must be a number, not '-inf'"),
        ("PERMANODE_STROE", "x", "PERMANODE_STROE: unknown setting; did you mean PERMANODE_STORE?"),
        ("PERMANODE_ELT_LAKE", "x", "PERMANODE_ELT_LAKE: unknown setting; did you mean PERMANODE_ETL_LAKE?"),
        ("PERMANODE_PORT", "1", "PERMANODE_PORT: unknown setting; did you mean PERMANODE_API_PORT?"),
    ],
)
def test_what_does_not_fit_among_the_variables_is_rejected_by_name(name: str, value: str, message: str) -> None:
    assert rejection(None, {name: value}).startswith(message)


def test_variables_of_other_programs_are_left_alone() -> None:
    assert read(None, {"HOME": "/", "PERMANODES": "x"}, {}).given == {}


def test_without_a_network_the_store_is_requested_and_the_rest_still_holds() -> None:
    settings = read(None, {}, {})
    assert settings.build("api", ApiSettings).port == 8000
    assert {row.key.partition(".")[0] for row in settings.table()} == {"api", "etl"}
    with pytest.raises(SettingsError, match="--store sqlite:///FOLDER and --network NAME"):
        settings.store()


def test_a_store_alone_is_queried_for_its_network() -> None:
    assert rejection(None, {}, {"store.url": ("--store", "sqlite:///x")}).startswith(
        "--store: unknown network of the store"
    )


def test_a_network_without_a_store_is_rejected() -> None:
    assert rejection(None, {"PERMANODE_NETWORK": "x"}).startswith("missing setting networks.x.url")


def test_what_the_part_itself_rejects_is_reported_with_its_place() -> None:
    given = {"PERMANODE_NETWORK": "x", "PERMANODE_STORE": "sqlite:///x", "PERMANODE_STORE_CHUNK_SIZE": "0"}
    with pytest.raises(SettingsError, match=r"networks\.x: chunk_size must be 1 or more"):
        read(None, given, {}).store()
    with pytest.raises(SettingsError, match="api: port must be 0 to 65535, not 99999"):
        read(None, {"PERMANODE_API_PORT": "99999"}, {}).build("api", ApiSettings)


def test_worker_processes_get_the_same_settings(file: Path) -> None:
    flags: Flags = {"store.url": ("--store", "sqlite:///x"), "network": ("--network", "a"), "api.port": ("--port", 7)}
    settings = read(file, {}, flags)
    environment = settings.environment()
    assert Path(environment.pop("PERMANODE_CONFIG")) == file
    again = read(file, environment, {})
    assert [(row.key, row.value) for row in again.table()] == [(row.key, row.value) for row in settings.table()]


def test_variables_are_named_by_part_and_field() -> None:
    assert variable("store.url") == "PERMANODE_STORE"
    assert variable("network") == "PERMANODE_NETWORK"
    assert variable("store.chunk_size") == "PERMANODE_STORE_CHUNK_SIZE"
    assert variable("etl.driver_memory") == "PERMANODE_ETL_DRIVER_MEMORY"


def test_a_rate_limit_of_nothing_is_rejected() -> None:
    settings = read(None, {"PERMANODE_API_RATE_LIMIT": "0/minute"}, {})
    with pytest.raises(SettingsError) as rejected:
        settings.build("api", ApiSettings)
    assert str(rejected.value) == "api: rate_limit must allow 1 request or more, not '0/minute'"


@pytest.mark.parametrize(("name", "empty"), [("KEYS", ""), ("KEYS", ","), ("JWT_SECRET", ""), ("JWT_SECRET", " ")])
def test_an_unset_variable_does_not_open_what_the_file_protects(tmp_path: Path, name: str, empty: str) -> None:
    path = tmp_path / "permanode.toml"
    path.write_text(f'[api]\nkeys = ["abc"]\njwt_secret = "{"s" * 32}"\n')
    message = f"PERMANODE_API_{name}: api.{name.lower()} is empty: set it to a secret, or leave it out"
    assert rejection(path, {f"PERMANODE_API_{name}": empty}) == message


def test_errors_never_show_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "permanode.toml"
    for line in ('keys = "hunter2"', 'keys = [7, "hunter2"]', 'jwt_secret = ["hunter2"]', "jwt_secret = 7"):
        path.write_text(f"[api]\n{line}\n")
        assert not {"hunter2", "7"} & set(re.findall(r"\w+", rejection(path).removeprefix(str(path))))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("cassandra://u:hunter2@host/k", "cassandra://u:(secret)@host/k"),
        ("scylla://u:hun@t/er2@host:9042/k?dc=a", "scylla://u:(secret)@host:9042/k?dc=a"),
        ("cassandra://:hunter2@host", "cassandra://:(secret)@host"),
        ("cassandra://u@host:9042/k", "cassandra://u@host:9042/k"),
        ("sqlite:////data/a@b:c", "sqlite:////data/a@b:c"),
    ],
)
def test_passwords_in_urls_are_not_shown(url: str, shown: str) -> None:
    rows = read(None, {"PERMANODE_STORE": url, "PERMANODE_NETWORK": "x"}, {}).table()
    assert {row.key: row.shown for row in rows}["networks.x.url"] == shown


def test_secrets_are_held_but_not_shown() -> None:
    settings = read(None, {"PERMANODE_API_KEYS": "abc,def"}, {})
    assert settings.build("api", ApiSettings).keys == ("abc", "def")
    rows = {row.key: row for row in settings.table()}
    assert rows["api.keys"].shown == "(secret)"
    assert (rows["api.jwt_secret"].shown, rows["api.port"].shown) == (None, 8000)
