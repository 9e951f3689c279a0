"""The embedded model for tests: pulled once into the user's cache; without it such tests are skipped, or fail."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from skynet.models.pull import SMOLLM2_135M, PullError, pull

REQUIRE = "SKYNET_REQUIRE_MODEL"  # set to 1 where the model must be there: a missing one is then a failure


@pytest.fixture(scope="session")
def embedded_model() -> Path:
    """The model's file, fetched on first use."""
    if importlib.util.find_spec("xllamacpp") is None:
        return _missing("xllamacpp is not installed: pip install 'skynet-optimizer[local]'")
    try:
        return pull(SMOLLM2_135M)
    except PullError as error:
        return _missing(str(error))


def _missing(reason: str) -> Path:
    if os.environ.get(REQUIRE) == "1":
        pytest.fail(f"{REQUIRE}=1, and the embedded model is missing: {reason}")
    pytest.skip(f"the embedded model is missing: {reason}")
