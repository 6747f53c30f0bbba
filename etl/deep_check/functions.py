"""Functions in Python that queries call for what SQL cannot compute. They use `ledger`, never the pipeline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Function:
    """A function of queries: its parameters' types, the type of its result, and what computes one value."""

    parameters: tuple[pa.DataType, ...]
    result: pa.DataType
    compute: Callable[..., Any]

    def __call__(self, *columns: pa.ChunkedArray) -> pa.Array:
        """Computes a column."""
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        return pa.array([None if None in row else self.compute(*row) for row in rows], type=self.result)
