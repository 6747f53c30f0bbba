"""Creates a store, or brings it up to date.

Rules of this file: under the lease; nothing runs when something contradicts; running it again does nothing. Where new
tables belong to the ledger state that one is taken back: the next load, or `permanode rebuild`, applies it once more.
"""

import os
import socket
import time

from db import schema
from db.connect import StoreSettings, open_adapter
from db.migrations import check, check_info, unapplied

LEASE_S = 60


def migrate(settings: StoreSettings) -> list[str]:
    """Applies what the store lacks and returns the names; StoreMismatch when it was made for something else."""
    store = open_adapter(settings.url, writable=True)
    try:
        check_info(store, settings.info())
        if schema.keyspace_info.name in store.tables() and not unapplied(store, settings.network):
            check(store, settings.info())
            return []
        lease = store.acquire(f"{socket.gethostname()}:{os.getpid()}", "migrate", LEASE_S)
        try:
            applied = unapplied(store, settings.network)
            for migration in applied:
                store.execute(migration.statements)
                with store.batch() as batch:
                    now = int(time.time() * 1000)
                    batch.upsert(schema.keyspace_info, schema.keyspace_info.names, settings.info().items())
                    row = (settings.network, migration.name, migration.checksum, now)
                    batch.upsert(schema.migrations, schema.migrations.names, [row])
                    if migration.of_ledger:
                        batch.clear(schema.ledger_frontier)
            check(store, settings.info())
        finally:
            store.release(lease)
        return [migration.name for migration in applied]
    finally:
        store.close()
