"""The rungs of two small models, from cuts of recordings."""

from functools import cache

import pytest
from msgspec.structs import replace

from study.ladder import Case, page
from study.ladder_of_models import Rung, kind_of, recorded, rungs
from tests.analyzer.recorded_cuts import CUTS, cut_models

pytestmark = pytest.mark.slow

H100 = Case("H100", "fp16", 1)


@cache
def found() -> list[Rung]:
    paths = [CUTS / f"nvidia-h100{of}.xz" for of in ("", "-ceilings", "-zoo")]
    known = recorded(paths)
    return [
        rung
        for model in cut_models()
        for rung in rungs(known, model)
        if rung.bound.precision == "fp16"
    ]


def test_rungs_are_in_order() -> None:
    assert len(found()) == 2
    for rung in found():
        assert rung.kind == "convolutions"
        assert rung.bound.roofline_us is not None
        assert rung.bound.sequential_us is not None
        assert rung.bound.attainable_us is not None
        assert rung.bound.roofline_us <= rung.in_full_us <= rung.bound.sequential_us
        assert rung.in_full_us <= rung.in_steps_us <= rung.bound.sequential_us
        assert rung.apart_us <= rung.bound.sequential_us <= rung.bound.attainable_us
        assert all(call.light_us <= call.us for call in rung.calls)


def test_the_guess_is_from_warm_times_alone() -> None:
    for rung in found():
        assert rung.bound.attainable_error_us == 0.0
        assert rung.guessed.sequential_us == rung.bound.sequential_us
        assert rung.guessed.attainable_error_us > 0.0


def test_a_model_without_convolutions_is_of_products_of_matrices() -> None:
    model = cut_models()[0]
    summaries = tuple(replace(of, op="MatMul") if "Conv" in of.op else of for of in model.summaries)
    assert kind_of(replace(model, summaries=summaries)) == "matrices"


def test_the_page_has_a_row_for_each_kind() -> None:
    text = page({H100: found()}, [])
    assert "| H100, fp16, batch 1 | convolutions | 2 |" in text
    assert "| H100, fp16, batch 1 | 2 | 2 | 0 | 0 |" in text
