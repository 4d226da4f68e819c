"""A model's bounds on one system, of what a policy takes of the measurements."""

from collections.abc import Iterable

from benanza_analyzer.answers.policies import Policy
from benanza_analyzer.core import Analyzer, AnalyzerEvent
from benanza_analyzer.models.states import with_states_copied
from benanza_schemas.events import LayerMeasured, ModelIngested, SystemMeasured


def under(
    policy: Policy,
    model: ModelIngested,
    system: SystemMeasured,
    measurements: Iterable[LayerMeasured],
) -> Analyzer:
    """An analyzer that knows this model alone, with these measurements of its layers and groups."""
    analyzer = Analyzer()
    if policy.copies_states:
        model = with_states_copied(model)
    events: list[AnalyzerEvent] = [model, system, *map(policy.of, measurements)]
    for event in events:
        analyzer.restore(event)
    return analyzer
