"""What it takes to turn images around a call that wants them in another layout."""

from collections.abc import Iterable, Iterator
from statistics import median
from typing import NamedTuple

from benanza_runner.cuda.arrays import empty
from benanza_runner.cuda.bench import MOST_IMAGE_AXES, Bench
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.company import Company, NoiseError, Run
from benanza_runner.cuda.graph_timer import FULL_CALLS, FULL_US, GraphTimer
from benanza_runner.cuda.kernels.layout_conversion import Order, layout_change
from benanza_runner.cuda.layouts import image_layouts, is_image
from benanza_runner.measuring.batch import calls_for
from benanza_schemas.layer import Precision

SAMPLES = 5


class Change(NamedTuple):
    """What turning images takes: again and again, and in the company of other calls if that was
    to be timed and is more than noise.
    """

    alone_us: float
    in_company_us: float | None


class LayoutChanges:
    """Times each change once: by shape, layout and precision. Without `company` only alone."""

    def __init__(self, timer: GraphTimer, company: Company | None) -> None:
        self._timer = timer
        self._company = company
        self._known: dict[tuple[Shape, Order, Precision], Change] = {}

    def forget(self) -> None:
        """Times each change again when it is next asked for."""
        self._known.clear()

    def around(self, bench: Bench, layout: str) -> Change | None:
        """What it takes to turn all images that the call reads into this layout, and those that it
        writes out of it; None if it is no layout of images.
        """
        changes = list(self._around(bench, layout))
        return self._sum(changes) if changes else None

    def after(self, bench: Bench, layout: str) -> Change:
        """What it takes to turn all images that the call writes out of this layout; if it is none,
        as if they had their channels last.
        """
        return self._sum(self._after(bench, layout))

    def _sum(self, changes: Iterable[Change]) -> Change:
        found = list(changes)
        accompanied = [each.in_company_us for each in found if each.in_company_us is not None]
        all_timed = self._company and len(accompanied) == len(found)
        in_company_us = sum(accompanied, 0.0) if all_timed else None
        return Change(sum((each.alone_us for each in found), 0.0), in_company_us)

    def _after(self, bench: Bench, layout: str) -> Iterator[Change]:
        _, written = bench.images()
        for shape in written:
            if len(shape) <= MOST_IMAGE_AXES:
                layouts = dict(image_layouts(len(shape)))
                *_, last = layouts.values()
                yield self._change(shape, layouts.get(layout, last), bench.precision)

    def _around(self, bench: Bench, layout: str) -> Iterator[Change]:
        read, written = bench.images()
        for shape, inwards in (*((s, True) for s in read), *((s, False) for s in written)):
            layouts = dict(image_layouts(len(shape)))
            if layout in layouts:
                own = layouts.pop(layout)
                (other,) = layouts.values()
                yield self._change(shape, other if inwards else own, bench.precision)

    def _change(self, shape: Shape, source: Order, precision: Precision) -> Change:
        if not is_image(shape):
            return Change(0.0, 0.0 if self._company else None)
        key = shape, source, precision
        if key not in self._known:
            (target,) = (order for _, order in image_layouts(len(shape)) if order != source)
            run = layout_change(empty(shape, source, precision), empty(shape, target, precision))
            once = self._timer.replayed(run, 1)
            once.run()
            # Few calls would leave a share of the replay's start in each.
            calls = calls_for(once.call_us(), FULL_US, FULL_CALLS)
            batch = self._timer.replayed(run, calls)
            alone_us = median(batch.call_us() for _ in range(SAMPLES))
            self._known[key] = Change(alone_us, self._in_company_us(run, alone_us))
        return self._known[key]

    def _in_company_us(self, run: Run, alone_us: float) -> float | None:
        if self._company is None:
            return None
        try:
            return median(self._company.in_company_us(run, alone_us))
        except NoiseError:
            return None
