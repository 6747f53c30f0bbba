from tests.cassandra_rows import filled_together
from tests.etl.embedded import everywhere, stores

__all__ = ["everywhere", "filled_together", "stores"]
