"""Which products save what, by calls of two bounds."""

from collections.abc import Sequence

import pytest

from benanza.quantised.products import product_fingerprints, product_worths
from benanza_analyzer.answers.calls import Call
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelIngested, ModelPublished
from benanza_schemas.events.derivation import Quantised
from tests.ingest.deriving.small_models import Model, mlp


def ingested(model: Model, to: Quantised = "") -> ModelIngested:
    published = ModelPublished(event_id="0" * 32, name="m", sha256="0" * 64, quantised=to)
    first, *_ = ingest(published, model.made("y").SerializeToString(), Limits())
    assert isinstance(first, ModelIngested)
    return first


def calls(model: ModelIngested, *of: tuple[Sequence[str], float]) -> list[Call]:
    """Calls of layers by name, which take these times."""
    at = {use.name: place for place, use in enumerate(model.layers)}
    return [
        Call(tuple(sorted(at[name] for name in names)), "0" * 32, us, 0.0, 0.0, 0, 0.0, True)
        for names, us in of
    ]


FLOATS = ingested(mlp())
IN_FLOATS = calls(FLOATS, (("m1", "a1", "r1"), 9.0), (("g2",), 5.0), (("t2",), 1.0), (("y",), 2.0))


def saved(to: Quantised, *of: tuple[Sequence[str], float]) -> dict[tuple[str, ...], float]:
    quantised = ingested(mlp(), to)
    found = product_worths(FLOATS, IN_FLOATS, quantised, calls(quantised, *of), {})
    return {worth.layers: worth.saved_us for worth in found}


def test_a_product_is_compared_with_all_that_its_calls_compute() -> None:
    found = saved(
        "int4", (("m1",), 2.0), (("r1",), 1.0), (("g2",), 6.0), (("t2",), 1.0), (("y",), 2)
    )
    assert found == {("m1",): 6.0, ("y",): 0.0, ("g2",): -1.0}
    assert [*found] == [("m1",), ("y",), ("g2",)]


def test_a_sum_with_a_bias_that_the_quantised_product_takes_in_is_the_products() -> None:
    apart = calls(FLOATS, (("m1",), 6.0), (("a1",), 2.0), (("r1",), 1.0))
    quantised = ingested(mlp(), "int4")
    found = product_worths(FLOATS, apart, quantised, calls(quantised, (("m1",), 2.0)), {})
    assert {worth.layers: (worth.us, worth.saved_us) for worth in found}[("m1",)] == (8.0, 6.0)


def test_what_is_new_belongs_to_the_product_that_it_is_in_or_that_reads_it() -> None:
    found = saved(
        "int8",
        (("x/Q",), 0.25),
        (("x/DQ", "w1/DQ", "m1", "a1", "r1", "r1/Q"), 3.0),
        (("r1/DQ",), 0.5),
        (("w2/DQ",), 0.5),
        (("g2",), 2.0),
        (("t2", "t2/Q"), 1.5),
        (("t2/DQ", "w3/DQ", "y"), 1.0),
    )
    assert found == {("m1",): 5.75, ("g2",): 2.0, ("y",): 1.0}


def test_products_of_one_call_are_one() -> None:
    merged = calls(FLOATS, (("m1", "a1", "r1", "g2"), 12.0), (("t2",), 1.0), (("y",), 2.0))
    quantised = ingested(mlp(), "int4")
    alone = calls(quantised, (("m1",), 2.0), (("r1",), 1.0), (("g2",), 3.0), (("y",), 1.0))
    found = product_worths(FLOATS, merged, quantised, alone, {})
    assert [(worth.layers, worth.saved_us) for worth in found] == [
        (("m1", "g2"), 6.0),
        (("y",), 1.0),
    ]


def test_products_that_stay_in_floats_are_left_out() -> None:
    model = Model("x")
    model.add("MatMul", f"x {model.weight('w1', 64, 40)}", "m1")
    model.add("MatMul", f"m1 {model.weight('w2', 40, 8)}", "y")
    floats, quantised = ingested(model), ingested(model, "int4")
    took = (("m1",), 2.0), (("y",), 1.0)
    found = product_worths(floats, calls(floats, *took), quantised, calls(quantised, *took), {})
    assert [worth.layers for worth in found] == [("m1",)]


def test_layers_of_one_name_are_told_apart_by_their_order() -> None:
    model = Model("x")
    for weight, read, written in (("w1", "x", "a"), ("w2", "a", "y")):
        model.add("MatMul", f"{read} {model.weight(weight, 64, 64)}", written)
    proto = model.made("y")
    for node in proto.graph.node:
        node.name = "same"
    events = []
    for to in ("", "int4"):
        published = ModelPublished(event_id="0" * 32, name="m", sha256="0" * 64, quantised=to)
        event, *_ = ingest(published, proto.SerializeToString(), Limits())
        assert isinstance(event, ModelIngested)
        events.append(event)
    before, after = (
        [Call((at,), "0" * 32, us, 0.0, 0.0, 0, 0.0, True) for at, us in enumerate(times)]
        for times in ((4.0, 3.0), (1.0, 2.0))
    )
    found = product_worths(events[0], before, events[1], after, {})
    assert [worth.saved_us for worth in found] == [3.0, 1.0]


def test_sizes_are_those_of_the_first_product() -> None:
    (fingerprint, *_) = product_fingerprints(FLOATS)
    quantised = ingested(mlp(), "int4")
    shapes = {fingerprint: [[3, 64], [64, 96]]}
    found = product_worths(FLOATS, IN_FLOATS, quantised, [], shapes)
    sizes = {worth.layers: (worth.op, worth.data, worth.weights) for worth in found}
    assert sizes[("m1",)] == ("MatMul", (3, 64), (64, 96))
    assert sizes[("g2",)] == ("Gemm", (), ())
    assert sum(worth.us for worth in found) == pytest.approx(16.0)
