"""Creates a store or migrates it to the current layout.

Invariants:
1. The migration holds the lease. Nothing runs if the store contradicts the settings or the migration files.
2. Running it again does nothing, and completes an interrupted run.
3. If a migration adds tables of the ledger state, the ledger state is reset; the next load or `permanode rebuild`
   applies it again.
4. It brings the files of the store into the current form (docs/decisions/0050-storage.md). A SQLite store is written
   again, and its earlier files are served until the new ones are complete.
5. If a migration adds a measure that counts messages, the next load or `permanode analytics` computes the analytics of
   all milestones again.
"""

import os
import socket
import time

from db import schema
from db.connect import StoreSettings, open_adapter
from db.lease_renewal import renewed
from db.queries.analytics import ANALYSED
from db.schema.migration_files import Migratable, Migration, check, check_info, is_done, list_recorded, unapplied
from db.store import Batch

LEASE_S = 60

REWRITTEN = "stored form"
"""What migrating a store with files of an earlier form returns, beside the names of migrations."""


def migrate(settings: StoreSettings) -> list[str]:
    """Applies the missing migrations and returns their names. Raises StoreMismatch if the store was created for
    something else.
    """
    store = open_adapter(settings, writable=True)
    try:
        check_info(store, settings.info())
        is_current = schema.keyspace_info.name in store.tables() and not unapplied(store, settings.network)
        if is_current and not store.is_outdated():
            check(store, settings.info())
            return []
        lease = store.acquire(f"{socket.gethostname()}:{os.getpid()}", "migrate", LEASE_S)
        with renewed(store, lease, LEASE_S) as check_lease:
            applied = unapplied(store, settings.network)
            for migration in applied:
                _apply(store, migration, settings)
                check_lease()
            done = [migration.name for migration in applied]
            if store.is_outdated():
                store.convert()
                check_lease()
                done.append(REWRITTEN)
            check(store, settings.info())
        return done
    finally:
        store.close()


def _apply(store: Migratable, migration: Migration, settings: StoreSettings) -> None:
    """Applies one migration, step by step if the store has no transactional DDL. Completed steps are then forgotten."""
    steps = [] if store.atomic else migration.steps
    if store.atomic:
        store.execute(_undone(store, migration))
    done = list_recorded(store, settings.network)
    for step in steps:
        if step.name not in done:
            store.execute(_undone(store, step))
            with store.batch() as batch:
                _record(batch, step, settings.network)
    with store.batch() as batch:
        if migration.of_ledger:
            batch.clear(schema.ledger_frontier)
        if migration.of_messages:
            batch.delete(schema.keyspace_info, (ANALYSED,))
        batch.upsert(schema.keyspace_info, schema.keyspace_info.names, settings.info().items())
        _record(batch, migration, settings.network)
        for step in steps:
            batch.delete(schema.migrations, (settings.network, step.name))


def _undone(store: Migratable, migration: Migration) -> list[str]:
    return [statement for statement in migration.statements if not is_done(store, statement)]


def _record(batch: Batch, migration: Migration, network: str) -> None:
    row = (network, migration.name, migration.checksum, int(time.time() * 1000))
    batch.upsert(schema.migrations, schema.migrations.names, [row])
