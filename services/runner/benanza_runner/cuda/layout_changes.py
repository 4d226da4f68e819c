"""What it takes to turn images around a call that wants them in another layout."""

from statistics import median

from benanza_runner.cuda.arrays import empty
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.graph_timer import FULL_CALLS, FULL_US, GraphTimer
from benanza_runner.cuda.kernels.layout_change import Order, layout_change
from benanza_runner.cuda.layouts import image_layouts, is_image
from benanza_runner.measuring.batch import calls_for
from benanza_schemas.layer import Precision

SAMPLES = 5


class LayoutChanges:
    """Times each change once: by shape, layout and precision."""

    def __init__(self, timer: GraphTimer) -> None:
        self._timer = timer
        self._known: dict[tuple[Shape, Order, Precision], float] = {}

    def around_us(self, bench: Bench, layout: str) -> float | None:
        """What it takes to turn all images that the call reads into this layout, and those that it
        writes out of it; None if it is no layout of images.
        """
        read, written = bench.images()
        found = None
        for shape, inwards in (*((s, True) for s in read), *((s, False) for s in written)):
            layouts = dict(image_layouts(len(shape)))
            if layout in layouts:
                own = layouts.pop(layout)
                (other,) = layouts.values()
                source = other if inwards else own
                found = (found or 0.0) + self._change_us(shape, source, bench.precision)
        return found

    def _change_us(self, shape: Shape, source: Order, precision: Precision) -> float:
        if not is_image(shape):
            return 0.0
        key = shape, source, precision
        if key not in self._known:
            (target,) = (order for _, order in image_layouts(len(shape)) if order != source)
            run = layout_change(empty(shape, source, precision), empty(shape, target, precision))
            run()
            # Few calls would leave a share of the replay's start in each.
            calls = calls_for(self._timer.once_us(run), FULL_US, FULL_CALLS)
            batch = self._timer.replayed(run, calls)
            self._known[key] = median(batch.call_us() for _ in range(SAMPLES))
        return self._known[key]
