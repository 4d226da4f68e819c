"""Published bounds beside those from the imported results."""

from hypothesis import given
from hypothesis import strategies as st

from study.paper2020.clone import PublishedLayer
from study.paper2020.comparison import CUT_NS, Difference, beside

LAYERS = st.lists(
    st.builds(PublishedLayer, st.sampled_from(["Conv", "Relu"]), st.integers(1, 30)), max_size=20
)


def test_layers_of_one_time_are_alike_and_others_are_listed() -> None:
    published = [PublishedLayer("Conv", 100), PublishedLayer("Relu", 50), PublishedLayer("Relu", 9)]
    here = [PublishedLayer("Relu", 50 + CUT_NS), PublishedLayer("Gemm", 9)]
    found = beside(published, here)
    assert found.alike == 1
    assert found.differences == (
        Difference("Conv", (100,), ()),
        Difference("Gemm", (), (9,)),
        Difference("Relu", (9,), ()),
    )


@given(LAYERS)
def test_a_bound_is_all_alike_with_itself(layers: list[PublishedLayer]) -> None:
    found = beside(layers, layers[::-1])
    assert found.alike == len(layers)
    assert not found.differences


@given(LAYERS, LAYERS)
def test_each_layer_is_alike_or_listed(
    published: list[PublishedLayer], here: list[PublishedLayer]
) -> None:
    found = beside(published, here)
    assert found.alike + sum(len(each.published) for each in found.differences) == len(published)
    assert found.alike + sum(len(each.here) for each in found.differences) == len(here)
