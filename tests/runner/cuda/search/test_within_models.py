"""Which variants are interleaved with other kernels: those whose times the analyzer looks for."""

import math
from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from benanza_analyzer.measurements import bests
from benanza_runner.cuda.search.within_models import to_interleave
from benanza_schemas.events import LayerMeasured, Variant
from benanza_schemas.vocabulary import GENERATED, CacheState, StoppedBy
from tests.backbone.sample_events import SYSTEM

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
