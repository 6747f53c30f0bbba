"""A network whose log is signed and has complete intervals: the synthetic listings of tests.db.stored_listings."""

from contextlib import closing
from pathlib import Path

from db.admin.migrate import migrate
from db.connect import StoreSettings, open_adapter
from ledger.transparency.keys import SigningKey
from tests.db.stored_listings import FIRST, FRONTIER, ROWS, write_archive, write_complete, write_log
from tests.ledger.completeness.ledgers import Archive

NETWORK = "proved-1"

KEY = SigningKey(f"permanode/{NETWORK}/{FIRST}", bytes(range(32)))

OTHER_KEY = SigningKey(f"permanode/{NETWORK}/{FIRST}", bytes(32))


def fill_proved(folder: Path, config: Path) -> None:
    """Adds the network to a configuration of tests.api.networks, with a SQLite store in `folder`."""
    settings = StoreSettings(f"sqlite:///{folder}/{NETWORK}", NETWORK)
    archive = Archive(ROWS, FIRST, FRONTIER, NETWORK)
    migrate(settings)
    with closing(open_adapter(settings, writable=True)) as store:
        write_archive(store, archive, settings.chunk_size)
        write_log(store, archive, KEY)
        write_complete(store, NETWORK, settings.chunk_size)
    with config.open("a", encoding="utf-8") as file:
        file.write(f'\n[networks.{NETWORK}]\nurl = "{settings.url}"\nbech32_hrp = "atoi"\n')
