"""Data rows: readers, column mapping, splits."""

from __future__ import annotations

from skynet.data.case import Case, DataError, content_hash
from skynet.data.columns import to_cases
from skynet.data.dataset import Dataset, load_dataset, sample_cases
from skynet.data.readers import read_rows
from skynet.data.row import Row
from skynet.data.sources import read_source

__all__ = [
    "Case",
    "DataError",
    "Dataset",
    "Row",
    "content_hash",
    "load_dataset",
    "read_rows",
    "read_source",
    "sample_cases",
    "to_cases",
]
