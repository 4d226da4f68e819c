"""What the best algorithms save against those that libraries' heuristics choose."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from benanza_analyzer.answers.policies import HEURISTIC
from benanza_analyzer.measurements import Measurements, bests
from benanza_analyzer.models.architectures import Architectures
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import cheapest_plans
from benanza_schemas.events import LayerMeasured, ModelIngested


class Algorithms(NamedTuple):
    """How much less time a model takes by the best algorithms, in microseconds, and in how many
    layers these save some.
    """

    saved_us: float
    layers: int


def best_algorithms(
    models: Iterable[ModelIngested], measurements: Iterable[LayerMeasured]
) -> dict[str, Algorithms]:
    """What the best algorithms save in each of these architectures, by its id, without groups.

    The measurements are of one system at one precision. Where no heuristic was asked, or its
    choices lack a layer that the best have, the architecture is left out. Raises
    `InvalidModelError` for a model whose parts don't fit together.
    """
    catalogue = Catalogue()
    architectures = Architectures(catalogue)
    for model in models:
        architectures.add(model)
    best, chosen = Measurements(), Measurements()
    asked = set()
    for event in measurements:
        number = catalogue.number(event.fingerprint)
        fastest, picked = bests(event), HEURISTIC.of(event)
        best.add(number, fastest, event.measured_at)
        # Most layers' heuristics weren't asked.
        chosen.add(number, fastest if picked is event else bests(picked), event.measured_at)
        if any(map(HEURISTIC.takes, event.variants)):
            asked.add(number)
    for collection in (best, chosen):
        collection.reach(len(catalogue))
    savings = {}
    for architecture in architectures.all():
        before, after = (cheapest_plans(architecture, "full", of)[0] for of in (chosen, best))
        if asked.isdisjoint(architecture.numbers.tolist()) or before.lacking > after.lacking:
            continue
        saved_us = before.times_us + before.conversion_us - after.times_us - after.conversion_us
        savings[architecture.id] = Algorithms(
            before.sequential_us - after.sequential_us, int(np.count_nonzero(saved_us > 0))
        )
    return savings
