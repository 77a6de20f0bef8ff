"""Which tests run on both engines."""

import pytest

# For what never reaches SQL, or reaches SQL that other tests run on both: checks of arguments, words of messages.
one_engine = pytest.mark.parametrize("location", ["sqlite"], indirect=True)
