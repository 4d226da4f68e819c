"""What larger batches are worth."""

from math import log2

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.looking.batch_sizes import by_batch_size
from benanza.results.what_if import LEAST_SAVING
from benanza_backbone.clickhouse.bounds import ModelBound
from tests.benanza.render.test_bounds import BOUND


def bound(batch: int, us: float, **changes: object) -> ModelBound:
    """A whole bound of a model whose ids end in the batch size."""
    of = msgspec.structs.replace(BOUND, partial=False, model_id=f"id {batch}", batch=batch)
    return msgspec.structs.replace(of, sequential_us=us, **changes)


FILES = {f"id {batch}": "one file" for batch in range(1, 1025)}


def test_a_sample_s_time_and_what_a_doubling_saves() -> None:
    bounds = [bound(8, 500.0), bound(1, 100.0), bound(2, 150.0)]
    (found,) = by_batch_size(bounds, FILES)
    assert [(each.batch, each.us_a_sample) for each in found.sizes] == [
        (1, 100.0),
        (2, 75.0),
        (8, 62.5),
    ]
    assert [each.saves for each in found.sizes] == [
        None,
        pytest.approx(0.25),
        pytest.approx(1 - (62.5 / 75) ** 0.5),  # two doublings
    ]
    assert found.enough is None
    assert (found.model, found.system, found.precision) == (BOUND.model, BOUND.system, "fp32")


def test_from_some_size_on_larger_batches_save_little() -> None:
    bounds = [bound(1, 100.0), bound(2, 120.0), bound(4, 236.0), bound(8, 480.0)]
    (found,) = by_batch_size(bounds, FILES)
    assert found.enough == 2


def test_a_size_between_that_saves_little_is_not_enough() -> None:
    """As where only then Tensor Cores are used well."""
    bounds = [bound(1, 100.0), bound(2, 199.0), bound(4, 200.0)]
    (found,) = by_batch_size(bounds, FILES)
    assert found.enough is None


def test_what_is_not_alike_or_not_whole_is_left_out() -> None:
    bounds = [
        bound(1, 100.0),
        bound(2, 150.0, precision="fp16"),
        bound(2, 150.0, system_id="another"),
        bound(2, 150.0, dims={"tokens": 5}),
        bound(4, 150.0, partial=True),
        bound(512, 150.0),
    ]
    assert by_batch_size(bounds, FILES | {"id 512": "another file"}) == ()


@given(st.dictionaries(st.integers(1, 1024), st.floats(1.0, 1e6), min_size=2, max_size=8))
def test_the_savings_lead_from_the_first_size_to_the_last(times: dict[int, float]) -> None:
    bounds = [bound(batch, us) for batch, us in times.items()]
    (found,) = by_batch_size(bounds, FILES)
    us = found.sizes[0].us_a_sample
    for before, after in zip(found.sizes, found.sizes[1:], strict=False):
        assert after.saves is not None
        share = after.us_a_sample / before.us_a_sample
        assert (after.saves >= LEAST_SAVING) == (share <= _share(before.batch, after.batch))
        us *= share
    assert us == pytest.approx(found.sizes[-1].us_a_sample)


def _share(before: int, after: int) -> float:
    """What is left of a sample's time if each doubling saves just enough."""
    return float((1 - LEAST_SAVING) ** max(log2(after / before), 1.0))
