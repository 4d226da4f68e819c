"""Tables of pandas, which is imported where one is asked for."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from pandas import DataFrame


def frame(result: msgspec.Struct, path: str) -> "DataFrame":
    """A row for each structure at the end of the path, such as `explanations.calls`, from this one;
    for this one itself if the path is empty.

    Columns are named by fields: those of structures in structures with a point, as in
    `bound.sequential_us`. A row also has the fields of what its structure is in, without further
    lists. What has no structures at the path's end has one row without their columns.

    Raises `BenanzaError` where pandas isn't installed.
    """
    check_pandas()
    import pandas as pd

    first, _, rest = path.partition(".")
    within = getattr(result, first) if path else (result,)
    return pd.DataFrame([row for each in within for row in _rows(each, rest)])


def check_pandas() -> None:
    """Raises `BenanzaError` if tables can't be made here."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise BenanzaError(
            f"tables of pandas can't be made here ({error}); say: pip install 'benanza[pandas]'"
        ) from error


def _rows(of: msgspec.Struct, path: str) -> Iterator[dict[str, Any]]:
    own = dict(_columns(of))
    if not path:
        yield own
        return
    first, _, rest = path.partition(".")
    shared = {name: value for name, value in own.items() if not isinstance(value, tuple)}
    within = getattr(of, first)
    for each in within:
        for row in _rows(each, rest):
            yield shared | row
    if not within:
        yield shared


def _columns(of: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    for name in of.__struct_fields__:
        value = getattr(of, name)
        if isinstance(value, msgspec.Struct):
            yield from ((f"{name}.{inner}", each) for inner, each in _columns(value))
        else:
            yield name, value
