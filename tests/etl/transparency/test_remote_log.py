"""A log behind a file host that grows while it is read."""

from pathlib import Path

from etl.transparency.audit import audit_logs
from tests.etl.static_archive.file_host import FileHost
from tests.etl.transparency.logs import NETWORK, append, files_of, made_store


def test_a_reader_of_an_older_checkpoint_takes_the_beginning_of_full_tiles(tmp_path: Path) -> None:
    settings, lake = made_store(tmp_path / "store"), tmp_path / "lake"
    folder = lake / "log" / NETWORK
    append(settings, lake, 200)
    older = files_of(lake)
    append(settings, lake, 400)
    assert "tile/0/000.p/204" in older
    assert not (folder / "tile/0/000.p/204").exists()
    (folder / "checkpoint").write_bytes(older["checkpoint"])
    with FileHost(folder) as host:
        (found,) = audit_logs([host.url], whole=True).operators
        assert (found.fault, found.last) == ("", 200)
        (folder / "tile/0/000").unlink()
        (found,) = audit_logs([host.url]).operators
        assert "is missing" in found.fault
