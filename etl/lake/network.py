"""The network of a lake: the name in the metadata of its Delta tables, which they get when they are created.

Lakes of earlier versions have no such name. For them it is found in their tables, their transparency log and the
network ids in their messages; `record_network` then gives their tables the name.

Invariant: nothing here needs an engine, and only `record_network` writes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileType

from db.store import StoreMismatch
from etl.engine.checksums import check_files
from etl.engine.damage import LakeDamaged
from etl.engine.delta_log import DeltaLog
from etl.engine.file_systems import file_system
from etl.lake.delta import KEY, TABLES
from etl.sources.cone import network_id_of
from ledger.eras import CHRYSALIS, STARDUST
from ledger.ids import network_id
from ledger.networks import Network, find_network, known_networks
from ledger.stardust.values import Transaction

LARGE = ("messages", "milestones", "vaas")
"""Tables whose logs name many files. They are opened last, and of most lakes not at all."""

SMALLEST_FIRST = (*(name for name in TABLES if name not in LARGE), *LARGE)

OF_IOTA, OF_WORMHOLE = ("messages", "milestones", "genesis"), ("vaas", "prices", "token_list")
"""Tables that only lakes of one protocol have."""

FILES_AT_ENDS = 10
"""Of a lake without the name, the network ids in the first and in the last files are compared, this many each."""

BATCH_ROWS = 1_000

ADVICE = "a lake of its own, for example with {network} in etl.lake, which stands for the network's name"


def check_network(root: str, network: Network, *, is_wormhole: bool = False) -> None:
    """Raises StoreMismatch if the lake at a path or URL belongs to another network. Accepts a lake without a name if
    nothing in it contradicts the network. A damaged table counts as one that does not exist.
    """
    owner = _recorded(root)
    if owner is not None:
        if owner != network.name:
            raise _mismatch(root, f"belongs to network {owner}", network)
        return
    is_iota = _is_any(root, OF_IOTA)
    if is_iota and is_wormhole:
        raise _mismatch(root, "belongs to an IOTA network", network)
    if is_iota:
        _check_log(root, network)
        _check_messages(root, network)
    elif not is_wormhole and _is_any(root, OF_WORMHOLE):
        raise _mismatch(root, "belongs to a Wormhole network", network)


def record_network(root: str, name: str) -> None:
    """Gives the tables of a lake of an earlier version the name of its network. Of a lake with tables of both protocols
    those of Wormhole stay without.
    """
    if _recorded(root) is None:
        left_out = OF_WORMHOLE if _is_any(root, OF_IOTA) else ()
        for table in SMALLEST_FIRST:
            if table not in left_out:
                log = DeltaLog(f"{root}/{table}", TABLES[table], name)
                log.refresh()
                log.set_name()


def _recorded(root: str) -> str | None:
    """The network that the tables of a lake name; None if there are no tables, or none has a name."""
    for table in SMALLEST_FIRST:
        with _without_damage(root):
            log = DeltaLog(f"{root}/{table}", TABLES[table])
            log.refresh()
            if name := log.stored_name():
                return name
    return None


def _is_any(root: str, tables: tuple[str, ...]) -> bool:
    return any(DeltaLog(f"{root}/{table}", TABLES[table]).exists() for table in tables)


def _check_log(root: str, network: Network) -> None:
    """Raises StoreMismatch if the lake has transparency logs, and none of this network."""
    files = file_system(root)
    found = files.get_file_info(FileSelector("log", allow_not_found=True))
    names = sorted(each.base_name for each in found if each.type == FileType.Directory)
    if names and network.name not in {find_network(name).name for name in names}:
        raise _mismatch(root, f"belongs to network {names[0]}", network)


def _check_messages(root: str, network: Network) -> None:
    """Raises StoreMismatch if messages have another network id than those of the network."""
    expected = set(map(network_id, _names(network)))
    with _without_damage(root):
        for found in _network_ids(DeltaLog(f"{root}/messages", TABLES["messages"])):
            if found not in expected:
                known = {network_id(name): each.name for each in known_networks() for name in _names(each)}
                raise _mismatch(root, f"belongs to network {known.get(found, f'id {found}')}", network)


def _network_ids(log: DeltaLog) -> Iterator[int]:
    """Yields the network id of the first message with one, of each of the files at both ends of the lake."""
    files = sorted(log.files(), key=lambda each: (each.least or 0, each.path))
    system = file_system(log.root)
    for file in dict.fromkeys([*files[:FILES_AT_ENDS], *files[-FILES_AT_ENDS:]]):
        check_files(log.root, KEY, [file])
        with system.open_input_file(file.path) as source:
            columns = ["version", "payload_kind", "message"]
            for batch in pq.ParquetFile(source).iter_batches(BATCH_ROWS, columns=columns):
                found = next(map(_network_id, filter(_has_network, batch.to_pylist())), None)
                if found is not None:
                    yield found
                    break


def _names(network: Network) -> tuple[str, str]:
    return network.id_name, network.stardust_name


def _has_network(row: dict[str, Any]) -> bool:
    is_chrysalis = row["version"] == CHRYSALIS.protocol_version
    return row["message"] is not None and (is_chrysalis or row["payload_kind"] == Transaction.KIND)


def _network_id(row: dict[str, Any]) -> int | None:
    codec = CHRYSALIS if row["version"] == CHRYSALIS.protocol_version else STARDUST
    return network_id_of(codec.decode(row["message"]))


def _mismatch(root: str, found: str, network: Network) -> StoreMismatch:
    return StoreMismatch(f"the lake {root} {found}, not {network.name}: give {network.name} {ADVICE}")


@contextmanager
def _without_damage(root: str) -> Iterator[None]:
    """Leaves out what cannot be read of a local lake: whatever reads it next reports that."""
    try:
        yield
    except (OSError, ValueError, LakeDamaged):
        if "://" in root:
            raise
