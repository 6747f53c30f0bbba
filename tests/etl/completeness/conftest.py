"""The embedded engine for all tests below this folder."""

from tests.etl.embedded import everywhere as everywhere
from tests.etl.embedded import stores as stores
