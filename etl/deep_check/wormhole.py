"""Defines what the queries of a Wormhole network read: the lake, functions of bytes, guardian sets, and the VAAs."""

from collections import defaultdict

from db import schema
from db.connect import StoreSettings
from db.schema.event_columns import FAMILY_COLUMNS
from etl.deep_check.engine import Database, define_constants, run_file
from etl.deep_check.stored import CheckedStore, keep
from etl.deep_check.vaa_functions import vaa_functions
from ledger.wormhole.emitters import GOVERNANCE_CHAIN, GOVERNANCE_EMITTER
from ledger.wormhole.guardians import PUBLISHED
from ledger.wormhole.vaa import decode_signatures, decode_vaa
from ledger.wormhole.verify import History, learn


def define(database: Database, settings: StoreSettings, _lake: str, store: CheckedStore, *, is_continued: bool) -> None:
    """Defines constants, macros, functions and tables. `is_continued`: the database has the tables that follow from the
    lake.
    """
    network = settings.wormhole_network
    if network is None:
        raise ValueError(f"{settings.network} is not a Wormhole network")
    define_constants(database, {"network": settings.network, "chunk_size": settings.range_size})
    history = _history(database, network)
    for name, function in vaa_functions(network, history).items():
        database.define_function(name, function)
    run_file(database, "macros")
    run_file(database, "vaa_macros")
    read_store(database, store)
    if not is_continued:
        _keep_sets(database, history)
        _keep_columns(database)
        run_file(database, "vaa_base")


def read_store(database: Database, store: CheckedStore) -> None:
    """Reads the facts of the store."""
    keep(database, "stored_splits", store, schema.splits, schema.splits.names)


def _history(database: Database, network: str) -> History:
    """The published guardian sets and those that messages of the lake name."""
    found = database.run(
        "SELECT DISTINCT sequence_key, family, value FROM lake_vaas "
        "WHERE family IN ('QuorumState', 'Signatures', 'VAAState') AND emitter_chain = ? AND emitter_address = ?",
        [GOVERNANCE_CHAIN, GOVERNANCE_EMITTER],
    )
    vaas, written = [], defaultdict[int, set[bytes]](set)
    for sequence, family, value in found:
        if family == "QuorumState":
            vaas.append(decode_vaa(value))
        elif family == "Signatures":
            written[int(sequence)].add(value)
        else:
            written[int(sequence)].update(each.signature for each in decode_signatures(value))
    return learn(PUBLISHED[network], vaas, written)


def _keep_sets(database: Database, history: History) -> None:
    """A row for each place of a set. `is_first`: the guardian has no earlier place in it."""
    database.run(
        "CREATE OR REPLACE TABLE guardians (set_index BIGINT, place INTEGER, address BLOB, is_first BOOLEAN, "
        "quorum INTEGER, since BIGINT, named_by BLOB)"
    )
    for index, each in history.items():
        for place, address in enumerate(each.addresses):
            is_first = address not in each.addresses[:place]
            row = [index, place, address, is_first, each.quorum, each.since, each.named_by]
            database.run("INSERT INTO guardians VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _keep_columns(database: Database) -> None:
    """The columns of the event plans: where their values are stored, and in which form they were written."""
    database.run(
        'CREATE OR REPLACE TABLE event_columns (family VARCHAR, qualifier VARCHAR, "column" VARCHAR, form VARCHAR)'
    )
    for (family, qualifier), each in FAMILY_COLUMNS.items():
        database.run("INSERT INTO event_columns VALUES (?, ?, ?, ?)", [family, qualifier, each.column, each.form])
