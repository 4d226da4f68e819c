"""A bound that is predicted for a GPU, by the cover that is cheapest there."""

from collections.abc import Iterable

from benanza_analyzer.core import Analyzer
from benanza_analyzer.prediction.gpu import Rates
from benanza_analyzer.prediction.scaling import scaled_measurement, works
from benanza_schemas.events import BoundUpdated, LayerMeasured, ModelIngested
from benanza_schemas.layer import Accounting
from benanza_schemas.limits import FIRST_TIME


def predicted_bound(
    model: ModelIngested,
    measurements: Iterable[LayerMeasured],
    rates: tuple[Rates, Rates],
    accounting: Accounting,
    *,
    fusion: bool,
) -> BoundUpdated:
    """The model's bound on the second of two GPUs, from measurements of its layers and groups on
    the first, of one system and precision, at least one. Those of other layers don't count: what is
    a view here may have been measured for another model. It has no speed of light and no attainable
    estimate.
    """
    analyzer = Analyzer()
    known = list(measurements)
    work = works(model, known[0].precision)
    for event in known:
        if event.fingerprint in work:
            analyzer.restore(scaled_measurement(event, work, *rates))
    bounds = analyzer.handle(model, FIRST_TIME)
    return next(b for b in bounds if (b.accounting, b.fusion) == (accounting, fusion))
