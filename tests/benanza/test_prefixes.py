"""An id may be named by its first digits, where they are one's alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.prefixes import with_prefix
from benanza_backbone.errors import BenanzaError

IDS = st.sets(st.text("ab", min_size=1, max_size=4), max_size=6)


@given(IDS, st.text("ab", max_size=4))
def test_it_is_the_only_one_that_begins_so(ids: set[str], prefix: str) -> None:
    candidates = {each for each in ids if each.startswith(prefix)}
    if prefix in ids:
        assert with_prefix(prefix, ids, "ids") == prefix
    elif not candidates or not prefix:
        assert with_prefix(prefix, ids, "ids") is None
    elif len(candidates) == 1:
        assert with_prefix(prefix, ids, "ids") == candidates.pop()
    else:
        with pytest.raises(BenanzaError, match="several ids begin with"):
            with_prefix(prefix, ids, "ids")
