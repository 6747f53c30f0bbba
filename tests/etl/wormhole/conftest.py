from tests.etl.embedded import everywhere, stores

__all__ = ["everywhere", "stores"]
