"""Bounds beside others, as people read them."""

import io

import msgspec

from benanza.render.comparison import SHOWN, print_comparison
from benanza.render.table import console
from benanza.results.bounds import ComparedBound, Comparison
from benanza.results.what_if import WhatIfLayers
from tests.benanza.render.test_bounds import BOUND


def lines(*found: ComparedBound, beside: str = "at bf16") -> list[str]:
    stream = io.StringIO()
    print_comparison(console(stream), Comparison(beside=beside, bounds=found))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def pair(*layers: WhatIfLayers) -> ComparedBound:
    other = msgspec.structs.replace(BOUND, sequential_us=150.0, partial=False)
    bound = msgspec.structs.replace(BOUND, sequential_us=100.0, partial=False)
    return ComparedBound(bound=bound, other=other, ratio=1.5, layers=layers, moved_by=())


def layers(name: str, us: float, other_us: float) -> WhatIfLayers:
    return WhatIfLayers(positions=(0,), layers=(name,), op="Conv", bound_us=us, us=other_us)


def test_each_bound_has_a_row_with_what_differs_most() -> None:
    titles, row, about = lines(pair(layers("stem", 10.0, 70.0), layers("head", 20.0, 10.0)))
    assert titles.split()[-4:] == ["most", "of", "the", "difference"]
    assert "100.0" in row
    assert "150.0" in row
    assert "1.500" in row
    assert row.endswith("+60.0 Conv stem; -10.0 Conv head")
    assert about.endswith("; other: at bf16")


def test_only_the_greatest_differences_are_named() -> None:
    many = [layers(f"layer{i}", 1.0, 9.0 - i) for i in range(5)]
    row = lines(pair(*many))[1]
    assert row.count("Conv layer") == SHOWN


def test_another_system_is_named() -> None:
    found = pair()
    other = msgspec.structs.replace(found.other, system_id="f" * 32)
    *_, about = lines(msgspec.structs.replace(found, other=other))
    assert "other: " in about
    assert "ffffffff" in about
