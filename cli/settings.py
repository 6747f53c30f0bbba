"""What holds, and where it came from: defaults < permanode.toml < PERMANODE_* < flags.

Rules of this file: a part's settings are a frozen dataclass beside its owner, each field with metadata["help"] and a
default (a field without one must be given, as every secret must); nothing is declared a second time here. Unknown keys
and wrong types are refused by name. A part is imported only when it is asked for, so that an API needs no Spark.
"""

import dataclasses
import difflib
import importlib
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
"""Read from the working directory, when it is there, unless --config or PERMANODE_CONFIG names another."""

PARTS: Mapping[str, tuple[str, str]] = {
    "store": ("db.connect", "StoreSettings"),
    "api": ("api.app", "ApiSettings"),
    "etl": ("etl.engine.session", "EtlSettings"),
}
"""Part → where its dataclass stands. `store` stands for the network at hand; the file says [networks.NAME]."""

SHORT: Mapping[str, str] = {"PERMANODE_STORE": "store.url", "PERMANODE_NETWORK": "network"}
"""Variables that are not PERMANODE_PART_FIELD; PERMANODE_CONFIG names the file itself."""

KINDS: Mapping[object, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple[str, ...]: "a list of texts",
}


class SettingsError(ValueError):
    """A setting that is unknown, missing or of the wrong type; the message says which, and where it was given."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody gave; `text`: it came as text, from a variable or a flag, and is still to be parsed."""

    value: object
    origin: str
    text: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """One value that holds; `origin` is "default", the file, the variable or the flag it came from."""

    key: str
    value: object
    origin: str
    help: str
    secret: bool = False

    @property
    def shown(self) -> object:
        """The value as it may be printed."""
        return "(secret)" if self.secret and self.value else self.value


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything given, by key (`networks.NAME.FIELD`, `api.FIELD`, `etl.FIELD`); parts are built from it on demand."""

    file: Path | None
    given: Mapping[str, Given]
    network: str | None
    networks: tuple[str, ...]

    def store(self, network: str | None = None) -> StoreSettings:
        """The store of that network; of the one at hand when none is named."""
        name = network or self.network
        if name is None:
            raise SettingsError(f"which store? Say --store sqlite:///FOLDER and --network NAME, or write {FILE}")
        return self.build(f"networks.{name}", StoreSettings, network=name)

    def network_alone(self) -> StoreSettings:
        """The network at hand for what asks no store: its settings, whether or not they say where it is kept."""
        if self.network is None:
            raise SettingsError(f"which network? Say --network NAME, or write {FILE}")
        prefix = f"networks.{self.network}"
        nowhere = {} if f"{prefix}.url" in self.given else {"url": ""}
        return self.build(prefix, StoreSettings, network=self.network, **nowhere)

    def build(self, prefix: str, part: type[T], **fixed: str) -> T:
        """A part out of the values given under `prefix`; `fixed` fields are known and cannot be given."""
        values = {setting.key.rpartition(".")[2]: setting.value for setting in self.explain(prefix, part, **fixed)}
        try:
            return part(**values)
        except ValueError as error:
            raise SettingsError(f"{prefix}: {error}") from error

    def explain(self, prefix: str, part: type[Any], **fixed: str) -> Iterator[Setting]:
        """Each field of a part: its value and where that came from; SettingsError for what does not fit."""
        kinds = typing.get_type_hints(part)
        fields = {field.name: field for field in dataclasses.fields(part)}
        for key, given in self.given.items():
            section, _, name = key.rpartition(".")
            if section == prefix and (name not in fields or name in fixed):
                raise SettingsError(f"{given.origin}: no setting {key}{_nearest(name, fields.keys() - fixed.keys())}")
        for name, field in fields.items():
            key, text, secret = f"{prefix}.{name}", field.metadata["help"], field.metadata.get("secret", False)
            if name in fixed:
                yield Setting(key, fixed[name], "the network's name", text)
            elif (found := self.given.get(key)) is not None:
                yield Setting(key, _conform(found, kinds[name], key), found.origin, text, secret)
            elif (value := default(field)) is not dataclasses.MISSING:
                yield Setting(key, value, "default", text)
            else:
                raise SettingsError(f"{key} is needed and has no default: {text}")

    def table(self) -> list[Setting]:
        """Every setting that holds here; parts whose extra is not installed have none."""
        rows = []
        if self.network is not None:
            rows.append(
                Setting("network", self.network, self.given["network"].origin, "network of mounts that name none")
            )
        for name in self.networks:
            rows += self.explain(f"networks.{name}", StoreSettings, network=name)
        for name in ("api", "etl"):
            try:
                part = load_part(name)
            except ModuleNotFoundError:
                continue
            rows += self.explain(name, part)
        return rows

    def environment(self) -> dict[str, str]:
        """The file and the flags as variables, for the processes that a command starts."""
        at_hand = f"networks.{self.network}."
        variables = {"PERMANODE_CONFIG": str(self.file)} if self.file else {}
        for key, given in self.given.items():
            if given.origin.startswith("--"):
                variables[variable(key.replace(at_hand, "store."))] = str(given.value)
        return variables


def read(file: Path | None, environment: Mapping[str, str], flags: Mapping[str, tuple[str, object]]) -> Settings:
    """All that was given. `flags`: key → (the flag's name, value), None where the flag was not used.

    `store.FIELD` and `network` speak of the network at hand: --network, else the file's `network`, else its only one.
    """
    given = _from_file(file) | _from_environment(environment)
    for key, (flag, value) in flags.items():
        if value is not None:
            given[key] = Given(value, flag, text=isinstance(value, str))
    defined = dict.fromkeys(key[9:].rpartition(".")[0] for key in given if key.startswith("networks."))
    if "network" not in given:
        stores = [value for key, value in given.items() if key.startswith("store.")]
        if len(defined) > 1:
            raise SettingsError(f"{file}: several networks ({', '.join(defined)}) and no `network` that names one")
        if stores and not defined:
            raise SettingsError(f"{stores[0].origin}: which network is in that store? Say --network NAME")
        if not defined:
            return Settings(file, given, None, ())
        given["network"] = Given(next(iter(defined)), str(file), text=True)
    network = str(_conform(given["network"], str, "network"))
    at_hand = {f"networks.{network}.{key[6:]}": value for key, value in given.items() if key.startswith("store.")}
    if defined and network not in defined and not at_hand:
        raise SettingsError(f"{given['network'].origin}: no network {network}{_nearest(network, defined)}")
    kept = {key: value for key, value in given.items() if not key.startswith("store.")}
    return Settings(file, kept | at_hand, network, tuple(defined | {network: None}))


def load_part(name: str) -> type[Any]:
    """The dataclass of a part; ModuleNotFoundError when its extra is not installed."""
    module, attribute = PARTS[name]
    part: type[Any] = getattr(importlib.import_module(module), attribute)
    return part


def variable(key: str) -> str:
    """The environment variable of `part.field` or `network`."""
    return next((name for name, short in SHORT.items() if short == key), "PERMANODE_" + key.replace(".", "_").upper())


def default(field: dataclasses.Field[Any]) -> Any:
    """A field's default, or dataclasses.MISSING."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def describe_kind(kind: object) -> str:
    """A field's type in words."""
    return KINDS[_plain(kind)] + (" or nothing" if NoneType in typing.get_args(kind) else "")


def _from_file(file: Path | None) -> dict[str, Given]:
    if file is None:
        return {}
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: not TOML: {error}") from error
    given: dict[str, Given] = {}
    for section, value in content.items():
        if section == "network":
            given[section] = Given(value, str(file), text=False)
        elif section not in {"networks", "api", "etl"}:
            raise SettingsError(f"{file}: no section {section}{_nearest(section, ['networks', 'api', 'etl'])}")
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
            raise SettingsError(f"{name}: no such setting{_nearest(name, [*SHORT, 'PERMANODE_CONFIG'])}")
        given[SHORT.get(name, f"{part}.{field}")] = Given(value, name, text=True)
    return given


def _conform(given: Given, kind: object, key: str) -> object:
    """The value as that type; text is parsed, a value from the file must have the type already."""
    plain, value = _plain(kind), given.value
    wrong = SettingsError(f"{given.origin}: {key} must be {describe_kind(kind)}, not {value!r}")
    if given.text and isinstance(value, str):
        try:
            return _parse(value, plain)
        except (KeyError, ValueError):
            raise wrong from None
    if plain == tuple[str, ...] and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if plain is float and type(value) is int:
        return float(value)
    if type(value) is not plain:
        raise wrong
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
    """The type without its `| None`."""
    if isinstance(kind, UnionType):
        return next(one for one in typing.get_args(kind) if one is not NoneType)
    return kind


def _nearest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}"
