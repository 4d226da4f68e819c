"""JSON that isn't nested deep."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.tracing.formats.shallow import MOST_LEVELS, NestedTooDeepError, ShallowFile

DOCUMENTS = st.recursive(
    st.text(alphabet='[]{}"\\a\n', max_size=8) | st.integers(),
    lambda parts: (
        st.lists(parts, max_size=3) | st.dictionaries(st.text('[{"\\', max_size=4), parts)
    ),
    max_leaves=20,
)


def levels_below(document: object) -> int:
    if isinstance(document, dict | list):
        parts = document.values() if isinstance(document, dict) else document
        return 1 + max(map(levels_below, parts), default=0)
    return 0


def read_all(content: bytes, at_once: int) -> bytes:
    file = ShallowFile(io.BytesIO(content))
    return b"".join(iter(lambda: file.read(at_once), b""))


@given(document=DOCUMENTS, at_once=st.integers(1, 30), around=st.integers(80, 105))
def test_levels_are_counted_wherever_a_read_ends(
    document: object, at_once: int, around: int
) -> None:
    content = b"[" * around + json.dumps(document).encode() + b"]" * around
    if around + levels_below(document) > MOST_LEVELS:
        with pytest.raises(NestedTooDeepError):
            read_all(content, at_once)
    else:
        assert read_all(content, at_once) == content
