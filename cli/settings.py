"""Reads the settings. Later sources override earlier ones: defaults, permanode.toml, PERMANODE_* variables, flags.

Invariants:
1. The settings of a part are a frozen dataclass next to the code that uses them. Each field has metadata["help"]; a
   field without a default is required.
2. Unknown keys and wrong types are rejected with the name of the setting.
3. A part is imported only when it is used, so the API does not need Spark.
"""

import dataclasses
import difflib
import importlib
import math
import re
import tomllib
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar

from db.connect import StoreSettings

T = TypeVar("T")

FILE = Path("permanode.toml")
"""The settings file in the working directory. --config or PERMANODE_CONFIG selects another one."""

PARTS: Mapping[str, tuple[str, str]] = {
    "store": ("db.connect", "StoreSettings"),
    "api": ("api.settings", "ApiSettings"),
    "etl": ("etl.engine.settings", "EtlSettings"),
}
"""Module and dataclass of each part. `store` is the selected network; the file has a section [networks.NAME] for it."""

SECTIONS = ("networks", "api", "etl")
"""The sections of the file. Its only setting outside of them is `network`."""

SHORT: Mapping[str, str] = {"PERMANODE_STORE": "store.url", "PERMANODE_NETWORK": "network"}
"""Variables with another form than PERMANODE_PART_FIELD. PERMANODE_CONFIG is the path of the settings file."""

KINDS: Mapping[object, str] = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    tuple[str, ...]: "a list of strings",
}


PASSWORD = re.compile(r"(://[^:/?#@\s]*:).*@", re.DOTALL)
"""The password in a URL, to the last @, because a password may contain one."""


class SettingsError(ValueError):
    """A setting is unknown, missing or has the wrong type. The message contains its name and origin."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value from the file, a variable or a flag. `text` means that it is text that must be parsed."""

    value: object
    origin: str
    text: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """An effective value. `origin` is "default", or the file, variable or flag that contains the value."""

    key: str
    value: object
    origin: str
    help: str
    secret: bool = False

    @property
    def shown(self) -> object:
        """The value for output, without secrets and without passwords in URLs."""
        if self.secret and self.value:
            return "(secret)"
        return PASSWORD.sub(r"\1(secret)@", self.value) if isinstance(self.value, str) else self.value


@dataclass(frozen=True, slots=True)
class Settings:
    """All given values by key (`networks.NAME.FIELD`, `api.FIELD`, `etl.FIELD`). Builds the parts on demand."""

    file: Path | None
    given: Mapping[str, Given]
    network: str | None
    networks: tuple[str, ...]

    def store(self, network: str | None = None) -> StoreSettings:
        """The store settings of a network. Default: the selected network."""
        name = network or self.network
        if name is None:
            raise SettingsError(
                f"no store is configured: pass --store sqlite:///FOLDER and --network NAME, or create {FILE}"
            )
        return self.build(f"networks.{name}", StoreSettings, network=name)

    def network_alone(self) -> StoreSettings:
        """The settings of the selected network for commands that open no store. They need not contain a URL."""
        if self.network is None:
            raise SettingsError(f"no network is configured: pass --network NAME, or create {FILE}")
        prefix = f"networks.{self.network}"
        nowhere = {} if f"{prefix}.url" in self.given else {"url": ""}
        return self.build(prefix, StoreSettings, network=self.network, **nowhere)

    def build(self, prefix: str, part: type[T], **fixed: str) -> T:
        """Builds a part from the values under `prefix`. `fixed` contains the values of fields that cannot be set."""
        values = {setting.key.rpartition(".")[2]: setting.value for setting in self.explain(prefix, part, **fixed)}
        try:
            return part(**values)
        except ValueError as error:
            raise SettingsError(f"{prefix}: {error}") from error

    def explain(self, prefix: str, part: type[Any], **fixed: str) -> Iterator[Setting]:
        """Yields the value and origin of each field of a part. Raises SettingsError for invalid settings."""
        kinds = typing.get_type_hints(part)
        fields = {field.name: field for field in dataclasses.fields(part)}
        for key, given in self.given.items():
            section, _, name = key.rpartition(".")
            if section == prefix and (name not in fields or name in fixed):
                known = fields.keys() - fixed.keys()
                raise SettingsError(f"{given.origin}: unknown setting {key}{_nearest(name, known)}")
        for name, field in fields.items():
            key, text, secret = f"{prefix}.{name}", field.metadata["help"], field.metadata.get("secret", False)
            if name in fixed:
                yield Setting(key, fixed[name], "the network's name", text)
            elif (found := self.given.get(key)) is not None:
                value = _conform(found, kinds[name], key, secret=secret)
                yield Setting(key, value, found.origin, text, secret)
            elif (value := default(field)) is not dataclasses.MISSING:
                yield Setting(key, value, "default", text)
            else:
                raise SettingsError(f"missing setting {key}: {text}")

    def table(self) -> list[Setting]:
        """Every effective setting. Omits parts whose extra is not installed."""
        rows = []
        if self.network is not None:
            rows.append(
                Setting("network", self.network, self.given["network"].origin, "network of paths that name none")
            )
        for name in self.networks:
            rows += self.explain(f"networks.{name}", StoreSettings, network=name)
        for name, part in installed_parts():
            if name != "store":
                rows += self.explain(name, part)
        return rows

    def environment(self) -> dict[str, str]:
        """The file and the flags as environment variables, for the processes that a command starts."""
        selected = f"networks.{self.network}."
        variables = {"PERMANODE_CONFIG": str(self.file)} if self.file else {}
        for key, given in self.given.items():
            if given.origin.startswith("--"):
                variables[variable(key.replace(selected, "store."))] = str(given.value)
        return variables


def read(file: Path | None, environment: Mapping[str, str], flags: Mapping[str, tuple[str, object]]) -> Settings:
    """Reads all given values.

    Args:
        file: The settings file.
        environment: The environment variables.
        flags: Name and value of each flag by key. The value is None if the flag was not used.

    `network` selects a network: --network, else the file's `network`, else the only network in the file. `store.FIELD`
    is a setting of the selected network.
    """
    given = _from_file(file) | _from_environment(environment)
    for key, (flag, value) in flags.items():
        if value is not None:
            given[key] = Given(value, flag, text=isinstance(value, str))
    defined = dict.fromkeys(key[9:].rpartition(".")[0] for key in given if key.startswith("networks."))
    if "network" not in given:
        stores = [value for key, value in given.items() if key.startswith("store.")]
        if len(defined) > 1:
            raise SettingsError(
                f"{file}: several networks ({', '.join(defined)}) but no `network`: pass --network NAME, or set it"
            )
        if stores and not defined:
            raise SettingsError(f"{stores[0].origin}: unknown network of the store: pass --network NAME")
        if not defined:
            return Settings(file, given, None, ())
        given["network"] = Given(next(iter(defined)), str(file), text=True)
    network = str(_conform(given["network"], str, "network"))
    selected = {f"networks.{network}.{key[6:]}": value for key, value in given.items() if key.startswith("store.")}
    if defined and network not in defined and not selected:
        raise SettingsError(f"{given['network'].origin}: unknown network {network}{_nearest(network, defined)}")
    kept = {key: value for key, value in given.items() if not key.startswith("store.")}
    return Settings(file, kept | selected, network, tuple(defined | {network: None}))


def load_part(name: str) -> type[Any]:
    """The dataclass of a part. Raises ModuleNotFoundError if its extra is not installed."""
    module, attribute = PARTS[name]
    part: type[Any] = getattr(importlib.import_module(module), attribute)
    return part


def installed_parts() -> Iterator[tuple[str, type[Any]]]:
    """Yields name and dataclass of each part whose extra is installed."""
    for name in PARTS:
        try:
            yield name, load_part(name)
        except ModuleNotFoundError:
            continue


def variable(key: str) -> str:
    """The environment variable of `part.field` or `network`."""
    return next((name for name, short in SHORT.items() if short == key), "PERMANODE_" + key.replace(".", "_").upper())


def default(field: dataclasses.Field[Any]) -> Any:
    """The default of a field, or dataclasses.MISSING."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def describe_kind(kind: object) -> str:
    """The type of a field, for documentation and errors."""
    return KINDS[_plain(kind)] + (" or unset" if NoneType in typing.get_args(kind) else "")


def _from_file(file: Path | None) -> dict[str, Given]:
    if file is None:
        return {}
    try:
        content = tomllib.loads(file.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise SettingsError(f"{file}: expected TOML in UTF-8; line {line} contains other bytes") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: invalid TOML: {error}") from error
    given: dict[str, Given] = {}
    for section, value in content.items():
        if section == "network" and not isinstance(value, dict):
            given[section] = Given(value, str(file), text=False)
        elif section not in SECTIONS:
            kind, known = ("section", SECTIONS) if isinstance(value, dict) else ("setting", ("network", *SECTIONS))
            raise SettingsError(f"{file}: unknown {kind} {section}{_nearest(section, known)}")
        else:
            tables = {section: value}
            if section == "networks":
                tables = {f"networks.{name}": table for name, table in _table(value, section, file).items()}
            for prefix, table in tables.items():
                for name, item in _table(table, prefix, file).items():
                    given[f"{prefix}.{name}"] = Given(item, str(file), text=False)
    return given


def _table(value: object, key: str, file: Path) -> dict[str, object]:
    if not isinstance(value, dict):
        raise SettingsError(f"{file}: {key} must be a table, not {value!r}")
    return value


def _from_environment(environment: Mapping[str, str]) -> dict[str, Given]:
    given: dict[str, Given] = {}
    for name, value in environment.items():
        part, _, field = name.removeprefix("PERMANODE_").lower().partition("_")
        if not name.startswith("PERMANODE_") or name == "PERMANODE_CONFIG":
            continue
        if name not in SHORT and (part not in PARTS or not field):
            raise SettingsError(f"{name}: unknown setting{_nearest(name, _variables())}")
        given[SHORT.get(name, f"{part}.{field}")] = Given(value, name, text=True)
    return given


def _variables() -> list[str]:
    fields = [
        variable(f"{name}.{field.name}")
        for name, part in installed_parts()
        for field in dataclasses.fields(part)
        if field.name != "network"
    ]
    return [*SHORT, "PERMANODE_CONFIG", *fields]


def _conform(given: Given, kind: object, key: str, *, secret: bool = False) -> object:
    """Converts a value to a type. Parses text; a value from the file must already have the type. A secret must not be
    empty, and no error shows it.
    """
    plain, value = _plain(kind), given.value
    shown = "" if secret else f", not {value!r}"
    wrong = SettingsError(f"{given.origin}: {key} must be {describe_kind(kind)}{shown}")
    if given.text and isinstance(value, str):
        try:
            value = _parse(value, plain)
        except (KeyError, ValueError):
            raise wrong from None
    elif plain == tuple[str, ...] and isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = tuple(value)
    elif plain is float and type(value) is int:
        value = float(value)
    elif type(value) is not plain:
        raise wrong
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong
    if secret and not (value and all(str(each).strip() for each in (value if isinstance(value, tuple) else [value]))):
        raise SettingsError(f"{given.origin}: {key} is empty: set it to a secret, or leave it out")
    return value


def _parse(text: str, kind: object) -> object:
    if kind is bool:
        return {"true": True, "false": False}[text.lower()]
    if kind == tuple[str, ...]:
        return tuple(item.strip() for item in text.split(",") if item.strip())
    if kind is int or kind is float:
        return kind(text)
    return text


def _plain(kind: object) -> object:
    """The type without `| None`."""
    if isinstance(kind, UnionType):
        return next(one for one in typing.get_args(kind) if one is not NoneType)
    return kind


def _nearest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f"; expected one of {', '.join(sorted(known))}"
