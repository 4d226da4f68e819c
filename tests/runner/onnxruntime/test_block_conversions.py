"""Conversions of feature maps into blocks of channels or to channels last, and back."""

from collections.abc import Iterator

import pytest

from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime.block_conversions import BlockConversions, Changes
from benanza_runner.onnxruntime.blocked import block_size
from benanza_runner.onnxruntime.copies_timer import CopiesTimer, TimedCopies
from benanza_runner.onnxruntime.forms import LayerForm
from benanza_runner.onnxruntime.session import CPU, Provider
from benanza_schemas.vocabulary import StoppedBy
from tests.runner.layers import relu

pytestmark = pytest.mark.skipif(
    not block_size(), reason="ONNX Runtime has no layout NCHWc on this processor"
)

MAP, ODD, SQUEEZED = (1, 32, 7, 5), (1, 33, 7, 5), (1, 32, 1, 1)
INTO_BLOCKS, OUT_OF_BLOCKS, TO_LAST = 3.0, 5.0, 7.0


class MadeUpTimer(CopiesTimer):
    """Conversions take so many microseconds, by direction; `timed_models` counts them."""

    def __init__(self) -> None:
        self.timed_models = 0

    def copies(self, model: LayerModel, provider: Provider) -> int:
        return 1

    def timed(self, model: LayerModel, provider: Provider, copies: int, rule: Rule) -> TimedCopies:
        self.timed_models += 1
        (node,) = model.proto.graph.node
        us = {
            "ReorderInput": INTO_BLOCKS,
            "ReorderOutput": OUT_OF_BLOCKS,
            "Transpose": TO_LAST,
        }[node.op_type]
        return TimedCopies((us,), StoppedBy.CONVERGED, 1, 0)


@pytest.fixture
def timer() -> MadeUpTimer:
    return MadeUpTimer()


def made_up(layout: str, reads: tuple[tuple[int, ...], ...]) -> LayerForm:
    return LayerForm(layer_model(relu(4)), layout, reads, (MAP,))


@pytest.mark.parametrize(
    ("layout", "reads", "changes"),
    [
        ("NCHW", (MAP,), Changes(OUT_OF_BLOCKS + INTO_BLOCKS, INTO_BLOCKS)),
        ("NCHWc", (MAP,), Changes(INTO_BLOCKS + OUT_OF_BLOCKS, OUT_OF_BLOCKS)),
        ("NCHWc", (MAP, MAP), Changes(2 * INTO_BLOCKS + OUT_OF_BLOCKS, OUT_OF_BLOCKS)),
        ("NCHWc", (ODD,), Changes(2 * OUT_OF_BLOCKS, OUT_OF_BLOCKS)),
        ("NCHWc", (SQUEEZED,), Changes(OUT_OF_BLOCKS, OUT_OF_BLOCKS)),
        ("", (), Changes(None, OUT_OF_BLOCKS)),
        ("NHWC", (MAP, ODD), Changes(3 * TO_LAST, TO_LAST)),
        ("NHWC", (SQUEEZED,), Changes(TO_LAST, TO_LAST)),
    ],
)
def test_what_is_converted_around_a_form(
    timer: MadeUpTimer, layout: str, reads: tuple[tuple[int, ...], ...], changes: Changes
) -> None:
    assert BlockConversions(timer).around(made_up(layout, reads)) == changes


def test_a_conversion_is_timed_once_unless_the_machine_was_busy(timer: MadeUpTimer) -> None:
    conversions = BlockConversions(timer)
    for stable, count in ((False, 2), (True, 4), (False, 4)):
        conversions.around(made_up("NCHWc", (MAP,)))
        conversions.settle(stable=stable)
        assert timer.timed_models == count


def shapes() -> Iterator[tuple[int, ...]]:
    yield from (MAP, ODD, (2, 2 * block_size(), 3, 3))


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("layout", ["NCHW", "NCHWc", "NHWC"])
def test_onnx_runtime_runs_them(shape: tuple[int, ...], layout: str) -> None:
    model = layer_model(relu(4))
    found = BlockConversions(CopiesTimer(CPU, 1)).around(
        LayerForm(model, layout, (shape,), (shape,))
    )
    assert found.layout_change_us is not None
    assert 0 < found.write_change_us < found.layout_change_us
