"""Which variants are interleaved with other kernels, and what they are said to write."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.measurements import bests
from benanza_runner.cuda.candidate import Candidate, Run, no_scratch
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.device_tensor import AppendedTensor, DeviceTensor
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.search.check import Checked
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.search.within_models import WithinModels, to_interleave
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import LayerMeasured, Variant
from benanza_schemas.vocabulary import GENERATED, CacheState, StoppedBy
from tests.backbone.sample_events import SYSTEM
from tests.runner.cuda.made_up_device import MadeUpDevice, MadeUpInterleavedTimer
from tests.runner.layers import relu

LAYOUTS = ("NCHW", "NHWC", "weights transposed", "")


def variant(place: int, layout: str, median_us: float, iqr_us: float, library: str) -> Variant:
    return Variant(
        library=library,
        algorithm=f"engine {place}",
        layout=layout,
        samples_us=(median_us,),
        minimum_us=median_us,
        median_us=median_us,
        iqr_us=iqr_us,
        stopped_by=StoppedBy.CONVERGED,
        layout_change_us=3.0 if layout == "NCHW" else 0.0 if layout == "NHWC" else None,
        write_change_us=1.0,
    )


@given(
    st.lists(
        st.tuples(
            st.sampled_from(LAYOUTS),
            st.sampled_from((1.0, 2.0)),
            st.integers(0, 2),
            st.sampled_from(("cudnn-graph", GENERATED)),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_the_analyzer_finds_interleaved_times_of_what_it_takes_for_best(
    drawn: list[tuple[str, float, int, str]],
) -> None:
    """Equal medians are not rare: times are multiples of a clock's tick."""
    timed = [variant(place, *each) for place, each in enumerate(drawn)]
    interleaved = [
        msgspec.structs.replace(timed[place], cache=cache)
        for place in to_interleave(timed)
        for cache in (CacheState.INTERLEAVED, CacheState.WEIGHTS_COLD)
    ]
    found = bests(
        LayerMeasured(
            event_id="e",
            fingerprint="f",
            system=SYSTEM,
            precision="fp16",
            measured_at=datetime(2026, 1, 1, tzinfo=UTC),
            variants=(*timed, *interleaved),
            environment={},
        )
    )
    assert not isinstance(found, str)
    assert all(
        math.isfinite(best.interleaved_us) for best in found if math.isfinite(best.median_us)
    )


class ColdTimer(MadeUpInterleavedTimer):
    """Remembers what it was told that calls write."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[DeviceTensor] = []

    def weights_cold_us(
        self,
        run: Run,
        alone_us: float,
        read: Sequence[DeviceTensor],
        written: DeviceTensor,
        scratch: Any | None,
    ) -> tuple[float, ...]:
        self.written.append(written)
        return super().weights_cold_us(run, alone_us, read, written, scratch)


def test_what_a_call_writes_is_not_its_cache() -> None:
    memory, device = DeviceMemory(np), MadeUpDevice()
    timer = ColdTimer()
    layer = relu(24)
    workspace = Workspace(lower(layer, random_inputs(layer, "fp32")), "fp32", memory)
    order = (0, 1, 2, 3)
    cache = AppendedTensor(
        memory.empty((2, 3, 5, 8), order, "fp32").array, order, "fp32", new=(..., 4, slice(None))
    )
    result = memory.empty((2, 1, 24), (0, 1, 2), "fp32")

    def run() -> None:
        device.run_for("attention", 5.0)

    candidate = Candidate("cupy", "attention", "", no_scratch, run, cache, (result,))
    checked = Checked(candidate, 0, None, device.replayed(run, 1), 5.0)
    conversions = LayoutConversions(device, device.convert, timer)
    within = WithinModels(conversions, timer, Guard(None, 60, lambda: None))
    within.added([checked], [variant(0, "", 5.0, 0.0, "cupy")], workspace, "attention")
    assert timer.written == [result]
