"""Models whose layers and groups have work to do."""

from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_schemas.events import LayerSummary, ModelIngested
from tests.analyzer.events import with_its_id
from tests.analyzer.graphs import all_fingerprints, models

amounts = st.integers(0, 9)


@st.composite
def working_models(draw: st.DrawFn) -> ModelIngested:
    """Models whose layers and groups have any work at all, a group less than its layers or more."""
    event = draw(models(repeats=False))
    work = {of: (draw(amounts), draw(amounts)) for of in all_fingerprints(event)}
    summaries = tuple(
        replace(of, bytes=work[of.fingerprint][0], least_flops=work[of.fingerprint][1])
        if of.fingerprint in work
        else of
        for of in (_reading(of, draw(amounts), draw(amounts)) for of in event.summaries)
    )
    groups = tuple(
        replace(of, bytes=work[of.fingerprint][0], least_flops=work[of.fingerprint][1])
        for of in event.groups
    )
    return with_its_id(replace(event, summaries=summaries, groups=groups))


def _reading(of: LayerSummary, weights: int, fixed: int) -> LayerSummary:
    return replace(of, least_weights=weights, least_fixed=min(weights, fixed))
