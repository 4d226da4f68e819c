"""Tables of pandas from results, and from statements."""

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
import pytest

import benanza.api
from benanza.querying.frames import frame
from benanza.results.result import Result
from benanza_backbone.errors import BenanzaError


class Inner(msgspec.Struct, frozen=True):
    us: float
    dims: dict[str, int]


class Part(msgspec.Struct, frozen=True):
    name: str
    us: float | None
    inner: Inner


class Whole(msgspec.Struct, frozen=True):
    model: str
    bound: Inner
    notes: tuple[str, ...]
    parts: tuple[Part, ...]


class Wholes(msgspec.Struct, frozen=True):
    wholes: tuple[Whole, ...]


INNER = Inner(1.5, {"past": 8})
FOUND = Wholes(
    (
        Whole("a", INNER, ("x",), (Part("p", 1.0, INNER), Part("q", None, INNER))),
        Whole("b", INNER, (), ()),
    )
)


def test_each_structure_at_the_path_s_end_is_a_row() -> None:
    table = frame(FOUND, "wholes.parts")
    assert list(table["model"]) == ["a", "a", "b"]
    assert list(table["name"].fillna("")) == ["p", "q", ""]
    assert list(table["us"].fillna(-1)) == [1.0, -1, -1]
    assert list(table["bound.us"]) == [1.5] * 3
    assert table["inner.dims"][0] == {"past": 8}
    assert "notes" not in table.columns


def test_without_a_path_it_is_one_row_and_nothing_has_none() -> None:
    table = frame(FOUND.wholes[0], "")
    assert list(table.columns) == ["model", "bound.us", "bound.dims", "notes", "parts"]
    assert len(table) == 1
    assert len(frame(Wholes(()), "wholes")) == 0


def test_time_stamps_keep_their_zone() -> None:
    found = benanza.api.inspect("zoo:alexnet").to_pandas()
    assert len(found) == 24
    at = datetime(2026, 1, 2, tzinfo=UTC)
    stamped = msgspec.defstruct("Stamped", [("at", datetime)])(at)
    assert frame(stamped, "")["at"][0].to_pydatetime() == at


def results() -> Iterator[type[Result]]:
    """All types of results that there are."""
    for module in pkgutil.walk_packages(benanza.__path__, "benanza."):
        if module.name.rpartition(".")[2] in ("results", "worth", "generation", "changes") or (
            module.name.startswith("benanza.results.")
        ):
            importlib.import_module(module.name)
    waiting = [Result]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        yield kind


@pytest.mark.parametrize("kind", sorted(set(results()), key=str))
def test_rows_are_where_they_are_said_to_be_and_no_column_hides_another(kind: type[Result]) -> None:
    of: type = kind
    seen: set[str] = set()
    for name in filter(None, kind._rows.split(".")):
        hints = {field.name: field.type for field in msgspec.structs.fields(of)}
        if of is not kind:
            assert seen.isdisjoint(hints)
            seen |= hints.keys() - {name}
        of = hints[name].__args__[0]
    assert seen.isdisjoint(field.name for field in msgspec.structs.fields(of))


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BenanzaError, match=r"pip install 'benanza\[pandas\]'"):
        benanza.api.inspect("zoo:alexnet").to_pandas()
