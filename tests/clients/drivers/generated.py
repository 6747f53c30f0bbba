"""Calls a server through the Python client that openapi-python-client made. Arguments: the client's folder, base URL.

A call is [operationId, {parameter, as on the wire: value}]. The driver runs in the generator's environment. It ends if
an answer does not fit the client's models exactly.
"""

import importlib
import json
import pkgutil
import sys
from contextlib import suppress
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import attrs


def modules(package: Any) -> dict[str, Any]:
    """operationId → the module that calls it."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return {each.name.rpartition(".")[2]: importlib.import_module(each.name) for each in found if not each.ispkg}


def plain(name: str) -> str:
    """A name without its language's additions: include-spent and include_spent are equal."""
    return "".join(character for character in name.lower() if character.isalnum())


def typed(value: Any, hint: Any) -> Any:
    """A value in the client's form: an enumeration member, a time object, or the model that has the body's keys."""
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return kind(value)
        if kind in (date, datetime) and isinstance(value, str) and str not in get_args(hint):
            return kind.fromisoformat(value)
        if isinstance(value, dict) and hasattr(kind, "from_dict"):
            with suppress(KeyError):
                return kind.from_dict(value)
    return value


def check_typed(value: Any, where: str) -> None:
    """TypeError if the client fell back to a plain dict, or kept a key that is missing in its model."""
    if isinstance(value, dict):
        raise TypeError(f"{where} is of no model: {value}")
    if isinstance(value, list):
        for each in value:
            check_typed(each, f"{where}[]")
    if attrs.has(type(value)):
        names = attrs.fields_dict(type(value)).keys() - {"additional_properties"}
        further = getattr(value, "additional_properties", {})
        if names and further:
            raise TypeError(f"{where} has keys that {type(value).__name__} lacks: {list(further)}")
        for name in names:
            check_typed(getattr(value, name), f"{where}.{name}")
        # A model without keys of its own accepts any, as a map or as a payload that the contract does not describe
        # further.
        for name, each in further.items():
            if attrs.has(type(each)):
                check_typed(each, f"{where}.{name}")


def written(value: Any) -> Any:
    """The JSON of a parsed body: of a model, a list of models or a number."""
    if isinstance(value, list):
        return [each.to_dict() for each in value]
    return value if isinstance(value, float) else value.to_dict()


def main() -> None:
    """Answers every line."""
    folder, base = Path(sys.argv[1]), sys.argv[2]
    sys.path.insert(0, str(folder.parent))
    package = importlib.import_module(folder.name)
    asking = modules(importlib.import_module(f"{folder.name}.api"))
    file = importlib.import_module(f"{folder.name}.types").File
    client = package.Client(base_url=base, raise_on_unexpected_status=True)
    for line in sys.stdin:
        operation, given = json.loads(line)
        ask = asking[operation].sync_detailed
        hints = get_type_hints(ask)
        names = {plain(name): name for name in hints}
        as_named = {name: name if name in hints else names[plain(name)] for name in given}
        arguments = {as_named[name]: typed(value, hints[as_named[name]]) for name, value in given.items()}
        found = ask(client=client, **arguments)
        if isinstance(found.parsed, file):
            answer = found.parsed.payload.read().hex()
        elif isinstance(found.parsed, str):
            answer = found.parsed.encode().hex()
        else:
            check_typed(found.parsed, operation)
            answer = written(found.parsed)
        reported = {"answer": answer} if found.status_code == 200 else {"refused": found.status_code, "message": answer}
        sys.stdout.write(json.dumps(reported) + "\n")


main()
