"""The paths at which networks may be mounted."""

import pytest

from api.app import RESERVED, ApiSettings, create_app
from api.network import NetworkMount
from tests.api.http.test_error_shape import BrokenStore

MOUNT = NetworkMount(BrokenStore(RuntimeError()), "testing", "atoi")


@pytest.mark.parametrize("name", [*sorted(RESERVED), "", ".", "a/b", "a b", "ä", "x" * 65, "{network}"])
def test_a_network_is_not_named_like_a_mount_or_like_no_path(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be mounted"):
        create_app({name: MOUNT}, name, ApiSettings())


@pytest.mark.parametrize(
    "name", ["v1", "core", "indexer", "explorer", "analytics", "poi", "wormhole", "routes", "docs"]
)
def test_the_mounts_of_all_families_are_reserved(name: str) -> None:
    assert name in RESERVED


def test_the_default_network_has_to_be_there() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        create_app({"testing": MOUNT}, "nowhere", ApiSettings())
