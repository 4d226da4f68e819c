"""What bounds would be under other policies, as people read it."""

import io
from typing import Any

import msgspec

from benanza.render.answers.explain import NONE_SUCH
from benanza.render.answers.what_if import NO_DIFFERENCE, print_what_ifs, what_ifs_html
from benanza.render.table import console
from benanza.results.what_if import (
    AtBatch,
    BatchSizes,
    ModelWhatIfs,
    WhatIf,
    WhatIfLayers,
    WhatIfs,
)
from tests.benanza.render.test_bounds import BOUND

LAYERS = WhatIfLayers(
    positions=(3, 4), layers=("conv1", "relu1"), op="Conv+Relu", bound_us=1.0, us=4.5
)
WITHOUT_FUSION = WhatIf(
    name="without fusion",
    precision="fp16",
    sequential_us=150.0,
    more_us=50.0,
    ratio=1.5,
    lacking=0,
    calls=30,
    layers=(LAYERS,),
)


def but(**changes: Any) -> WhatIf:
    return msgspec.structs.replace(WITHOUT_FUSION, **changes)


def lines(*what_ifs: WhatIf) -> list[str]:
    of = msgspec.structs.replace(BOUND, sequential_us=100.0)
    stream = io.StringIO()
    print_what_ifs(console(stream), WhatIfs(models=(ModelWhatIfs(bound=of, what_ifs=what_ifs),)))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_each_policy_has_a_row() -> None:
    title, columns, row = lines(WITHOUT_FUSION)
    assert title == "alexnet, batch 8: 100.0 µs, measured on A CPU with onnxruntime at fp32"
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    titles = [each.strip() for each in columns.split("  ") if each.strip()]
    assert dict(zip(titles, cells, strict=True)) == {
        "what if": "without fusion",
        "bound µs": "150.0",
        "more µs": "+50.0",
        "ratio": "1.50",
        "calls": "30",
        "most of it": "conv1 (Conv+Relu) +3.5",
    }


def test_a_faster_one_has_a_minus() -> None:
    *_, row = lines(but(more_us=-20.0, ratio=0.8))
    assert "-20.0" in row


def test_the_layers_that_matter_most_are_named() -> None:
    nameless = msgspec.structs.replace(LAYERS, layers=("", ""))
    *_, row = lines(but(layers=(nameless, LAYERS, LAYERS, LAYERS)))
    assert row.count("(Conv+Relu)") == 3
    assert "3 (Conv+Relu) +3.5, conv1" in row


def test_what_lacks_layers_is_not_compared() -> None:
    *_, row = lines(but(more_us=None, ratio=None, lacking=2, layers=()))
    assert row.endswith("lacks 2 layers")


def test_to_a_bound_of_zero_there_is_no_ratio() -> None:
    *_, row = lines(but(ratio=None))
    assert "+50.0" in row
    assert row.endswith("conv1 (Conv+Relu) +3.5")


def test_where_nothing_matters_it_says_so() -> None:
    assert lines()[1:] == [NO_DIFFERENCE]


SIZES = BatchSizes(
    model="alexnet",
    dims={"tokens": 5},
    system=BOUND.system,
    system_id=BOUND.system_id,
    runtime=BOUND.runtime,
    precision="fp32",
    sizes=(
        AtBatch(batch=1, sequential_us=80.0, us_a_sample=80.0, saves=None),
        AtBatch(batch=8, sequential_us=512.0, us_a_sample=64.0, saves=0.07),
    ),
    enough=None,
)


def test_batch_sizes_have_a_table() -> None:
    stream = io.StringIO()
    models = (ModelWhatIfs(bound=BOUND, what_ifs=()),)
    print_what_ifs(console(stream), WhatIfs(models=models, batch_sizes=(SIZES,)))
    *_, title, columns, first, second, last = map(str.strip, stream.getvalue().splitlines())
    assert title.startswith("alexnet, tokens=5, by batch size, measured on A CPU")
    assert columns.split("  ")[0] == "batch"
    assert first.split() == ["1", "80.0", "80.0", "12,500", "-"]
    assert second.split() == ["8", "512.0", "64.0", "15,625", "7.0%"]
    assert last == "a larger batch than 8 may pay"


def test_it_says_from_where_on_larger_batches_save_little() -> None:
    stream = io.StringIO()
    enough = msgspec.structs.replace(SIZES, enough=1)
    models = (ModelWhatIfs(bound=BOUND, what_ifs=()),)
    print_what_ifs(console(stream), WhatIfs(models=models, batch_sizes=(enough,)))
    assert "a larger batch than 1 saves less than 5%" in stream.getvalue()


def test_without_a_bound_it_says_where_to_look() -> None:
    stream = io.StringIO()
    print_what_ifs(console(stream), WhatIfs(models=()))
    assert stream.getvalue().strip() == NONE_SUCH


def test_a_notebook_shows_a_table() -> None:
    found = WhatIfs(models=(ModelWhatIfs(bound=BOUND, what_ifs=(WITHOUT_FUSION,)),))
    assert "without fusion" in what_ifs_html(found)
