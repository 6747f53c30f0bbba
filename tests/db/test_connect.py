"""URLs of stores: an invalid one is an error that shows the valid form, and never a password."""

import pytest

from db.connect import checked_url
from db.store import StoreError

EXPECTED = "; expected sqlite:///FOLDER (a fourth slash for an absolute path) or cassandra://[USER@]HOST[:PORT]"


@pytest.mark.parametrize("url", ["sqlite:///data", "sqlite:////data", "sqlite:///~/data", "scylla://u@host:9042/k"])
def test_a_valid_url_does_not_change(url: str) -> None:
    assert checked_url(url) == url


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "sqlite://data",
            "sqlite://data has two slashes; write sqlite:///data, or sqlite:////data for an absolute path",
        ),
        ("/srv/x", "'/srv/x' has no scheme; write sqlite:////srv/x"),
        ("data/x", "'data/x' has no scheme; write sqlite:///data/x"),
        ("sqlite:///", f"invalid store URL{EXPECTED}"),
        ("sqlite:data", f"invalid store URL{EXPECTED}"),
        ("postgres://host/data", f"unknown store scheme 'postgres'{EXPECTED}"),
        ("sqlite://u:hunter2@host", f"invalid store URL{EXPECTED}"),
        ("u:hunter2@host/k", f"unknown store scheme 'u'{EXPECTED}"),
    ],
)
def test_an_invalid_url_is_answered_with_the_valid_form(url: str, message: str) -> None:
    with pytest.raises(StoreError) as rejected:
        checked_url(url)
    assert str(rejected.value).startswith(message)
    assert "hunter2" not in str(rejected.value)
