"""How long it takes to convert feature maps around a call that wants them in another layout."""

from collections.abc import Iterable, Iterator
from statistics import median

from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.candidate import Run
from benanza_runner.cuda.layouts import Order, depends_on_layout, feature_map_layouts
from benanza_runner.cuda.search.instruments import (
    Conversion,
    Convert,
    InterleavedTimer,
    NoiseError,
    Timer,
)
from benanza_runner.cuda.search.replays import FULL_CALLS, FULL_US
from benanza_runner.cuda.workspace import MAX_FEATURE_MAP_AXES, Workspace
from benanza_runner.measuring.batch import calls_for
from benanza_schemas.layer import Precision

SAMPLES = 5


class LayoutConversions:
    """Times each conversion once, by shape, layout and precision.

    Without `interleaved`, conversions are only timed alone.
    """

    def __init__(
        self, timer: Timer, convert: Convert, interleaved: InterleavedTimer | None = None
    ) -> None:
        self._timer = timer
        self._convert = convert
        self._interleaved = interleaved
        self._known: dict[tuple[Shape, Order, Precision], Conversion] = {}

    def forget(self) -> None:
        """Drops all times, so that each conversion is timed again when it is next asked for."""
        self._known.clear()

    def around(self, workspace: Workspace, layout: str) -> Conversion | None:
        """How long it takes to convert all feature maps that the call reads into this layout, and
        those that it writes back; None if feature maps don't have this layout.
        """
        conversions = list(self._around(workspace, layout))
        return self._sum(conversions) if conversions else None

    def after(self, workspace: Workspace, layout: str) -> Conversion:
        """How long it takes to convert all feature maps that the call writes from this layout.

        If the layout is none of feature maps, they count as written with their channels last.
        """
        return self._sum(self._after(workspace, layout))

    def _sum(self, conversions: Iterable[Conversion]) -> Conversion:
        parts = list(conversions)
        interleaved = [part.interleaved_us for part in parts if part.interleaved_us is not None]
        all_timed = self._interleaved and len(interleaved) == len(parts)
        interleaved_us = sum(interleaved, 0.0) if all_timed else None
        return Conversion(sum((part.alone_us for part in parts), 0.0), interleaved_us)

    def _after(self, workspace: Workspace, layout: str) -> Iterator[Conversion]:
        _, written = workspace.shapes()
        for shape in written:
            if len(shape) <= MAX_FEATURE_MAP_AXES:
                layouts = dict(feature_map_layouts(len(shape)))
                *_, last = layouts.values()
                yield self._conversion(workspace, shape, layouts.get(layout, last))

    def _around(self, workspace: Workspace, layout: str) -> Iterator[Conversion]:
        read, written = workspace.shapes()
        for shape, inwards in (*((s, True) for s in read), *((s, False) for s in written)):
            layouts = dict(feature_map_layouts(len(shape)))
            if layout in layouts:
                own = layouts.pop(layout)
                (other,) = layouts.values()
                yield self._conversion(workspace, shape, other if inwards else own)

    def _conversion(self, workspace: Workspace, shape: Shape, source: Order) -> Conversion:
        if not depends_on_layout(shape):
            return Conversion(0.0, 0.0 if self._interleaved else None)
        precision = workspace.precision
        key = shape, source, precision
        if key not in self._known:
            orders = (order for _, order in feature_map_layouts(len(shape)))
            (target,) = (order for order in orders if order != source)
            empty = workspace.memory.empty
            run = self._convert(empty(shape, source, precision), empty(shape, target, precision))
            once = self._timer.replayed(run, 1)
            once.run()
            # Few calls would leave a share of the replay's start in each.
            calls = calls_for(once.call_us(), FULL_US, FULL_CALLS)
            batch = self._timer.replayed(run, calls)
            alone_us = median(batch.call_us() for _ in range(SAMPLES))
            self._known[key] = Conversion(alone_us, self._interleaved_us(run, alone_us))
        return self._known[key]

    def _interleaved_us(self, run: Run, alone_us: float) -> float | None:
        if self._interleaved is None:
            return None
        try:
            return median(self._interleaved.interleaved_us(run, alone_us))
        except NoiseError:
            return None
