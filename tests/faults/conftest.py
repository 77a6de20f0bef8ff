import os
import secrets

import pytest

pytest.register_assert_rewrite("stores")


@pytest.fixture
def seed():
    """Where the chance of a test comes from: printed, and given by FAULT_SEED to play a failure again."""
    chosen = int(os.environ.get("FAULT_SEED") or secrets.randbits(32))
    print(f"FAULT_SEED={chosen}")  # noqa: T201 - pytest shows it when the test fails
    return chosen
