"""The search for garbage is off while a model is taken apart, and as it was before and after."""

import gc
from collections.abc import Iterator

import pytest

from benanza_ingest.extract import extract
from benanza_ingest.garbage import no_garbage_search
from tests.ingest.onnx_text import content


@pytest.fixture(params=[True, False])
def enabled(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Whether the search is on; it is put on again after each test."""
    (gc.enable if request.param else gc.disable)()
    yield request.param
    gc.enable()


def test_it_is_off_inside_and_as_before_afterwards(enabled: bool) -> None:
    with no_garbage_search():
        assert not gc.isenabled()
        with no_garbage_search():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() == enabled


def test_it_is_as_before_after_an_error(enabled: bool) -> None:
    with pytest.raises(KeyError), no_garbage_search():
        raise KeyError
    assert gc.isenabled() == enabled


def test_extracting_a_model_leaves_it_as_it_was(enabled: bool) -> None:
    extract(content("g (float[2,3] x) => (y) { y = Relu(x) }"))
    assert gc.isenabled() == enabled


def test_extracting_a_model_leaves_no_garbage() -> None:
    encoded = content("g (float[2,3] x, float[3,4] w) => (y) { t = MatMul(x, w) y = Relu(t) }")
    extract(encoded)  # What is loaded once stays.
    left = []
    for _ in range(5):  # Threads of other tests may leave some in any one of them.
        gc.collect()
        extract(encoded)
        left.append(gc.collect())
    assert min(left) == 0
