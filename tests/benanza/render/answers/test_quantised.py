"""What quantising a model is worth, as people read it."""

import io
from typing import Any

import msgspec

from benanza.quantised.worth import ProductWorth, QuantisationWorth, QuantisationWorths
from benanza.render.answers.explain import NONE_SUCH
from benanza.render.answers.quantised import TOP, print_quantisations, quantisations_html
from benanza.render.table import console
from tests.benanza.render.test_bounds import BOUND

LONG = "/model/layers.0/attention/of/many/heads/qkv_proj/MatMul"

PRODUCT = ProductWorth(
    layers=(LONG,),
    op="MatMul",
    data=(1, 8, 4096),
    weights=(4096, 14336),
    us=40.0,
    quantised_us=12.0,
)
CONVOLUTION = ProductWorth(
    layers=("conv1", "conv2"),
    op="Conv",
    data=(1, 3, 224, 224),
    weights=(64, 3, 7, 7),
    us=4.0,
    quantised_us=5.5,
)
WORTH = QuantisationWorth(
    bound=msgspec.structs.replace(BOUND, sequential_us=100.0),
    quantised="int4",
    other=msgspec.structs.replace(BOUND, model="alexnet int4", sequential_us=44.5),
    saved_us=55.5,
    share=0.555,
    products=(PRODUCT, PRODUCT, CONVOLUTION),
    elsewhere_us=1.0,
)


def lines(*worths: QuantisationWorth, to_run: tuple[str, ...] = ()) -> list[str]:
    stream = io.StringIO()
    print_quantisations(console(stream), QuantisationWorths(worths=worths, to_run=to_run))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def but(**changes: Any) -> QuantisationWorth:
    return msgspec.structs.replace(WORTH, **changes)


def test_alike_products_have_a_row_together_and_rows_fit_a_terminal() -> None:
    title, saving, columns, alike, other, elsewhere = lines(WORTH)
    assert title == "alexnet, batch 8, measured on A CPU with onnxruntime at fp32"
    assert saving == "100.0 µs as written, 44.5 µs in int4: saves 55.5 µs (55.5%)"
    assert columns.split("  ")[0] == "first product"
    assert alike.split() == [
        "…y/heads/qkv_proj/MatMul",
        "2",
        "8×4096×14336",
        "80.0",
        "24.0",
        "56.0",
    ]
    assert other.split() == ["conv1", "2", "64×3×7×7", "4.0", "5.5", "-1.5"]
    assert elsewhere == "what is not quantised saves 1.0 µs"
    assert max(map(len, (columns, alike, other))) <= 80


def test_what_takes_longer_costs() -> None:
    _, saving, *_, elsewhere = lines(but(saved_us=-10.0, share=-0.1, elsewhere_us=-2.0))
    assert saving.endswith("costs 10.0 µs (10.0%)")
    assert elsewhere == "what is not quantised takes 2.0 µs more"


def test_a_partial_bound_is_not_compared() -> None:
    partial = but(saved_us=None, share=None, products=(), elsewhere_us=None)
    assert lines(partial)[1:] == ["in int4: a bound is partial; benanza bounds says what it lacks"]


def test_sizes_that_are_not_stored_are_a_dash() -> None:
    unknown = msgspec.structs.replace(PRODUCT, data=(), weights=())
    *_, row, _ = lines(but(products=(unknown,)))
    assert row.split()[2] == "-"


def test_of_many_kinds_the_first_are_shown() -> None:
    kinds = [msgspec.structs.replace(PRODUCT, us=40.0 + at) for at in range(TOP + 3)]
    shown = lines(but(products=tuple(kinds)))
    assert len(shown) == TOP + 5
    assert shown[-2] == "and 3 products; --format json has them all"


def test_what_is_not_known_is_said_with_its_command() -> None:
    last = lines(WORTH, to_run=("benanza run m.onnx --quantised fp8",))[-1]
    assert last == "not known yet; say: benanza run m.onnx --quantised fp8"
    assert lines() == [NONE_SUCH]


def test_a_notebook_shows_the_same() -> None:
    assert "8×4096×14336" in quantisations_html(QuantisationWorths(worths=(WORTH,), to_run=()))
