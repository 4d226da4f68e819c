"""A population of models: how many layers are unique, which repeat, and how alike models are.

Layers are the same if their fingerprints are. Shares are fractions, from 0 to 1.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from statistics import median
from typing import NamedTuple

from benanza_ingest.extracted import ExtractedModel


class Composition(NamedTuple):
    """A model as its layers.

    `layers` has the fingerprint and the operator of each layer that has a fingerprint, in the
    model's order, repeated as often as the layer occurs. A fingerprint belongs to one operator.
    """

    model: str
    layers: tuple[tuple[str, str], ...]


class Uniqueness(NamedTuple):
    """How many layers there are, and how many of them differ."""

    layers: int
    unique: int

    @property
    def share(self) -> float:
        """The share of layers that are unique; 0.0 where there is no layer."""
        return _share(self.unique, self.layers)


class Growth(NamedTuple):
    """What holds when this many models have arrived, as medians over the orders of arrival.

    `share` is the share of all their layers that are unique. `new` is the share of the last
    model's unique layers that no model before it has; 0.0 for a model without layers.
    """

    models: int
    share: float
    new: float


class Repetition(NamedTuple):
    """How many layers an operator has, and how many of them differ."""

    op: str
    layers: int
    unique: int


class Similar(NamedTuple):
    """A model and the other model that has most of its unique layers.

    `shared` is the share of the model's unique layers that the other has; 0.0 for a model
    without layers. It depends on the direction: a small model may be all in a large one.
    """

    model: str
    nearest: str
    shared: float


def composition(model: str, extracted: ExtractedModel) -> Composition:
    """The model of this name as its layers, without those that were skipped."""
    known = (layer for layer in extracted.layers if layer.layer is not None)
    return Composition(model, tuple((layer.fingerprint, layer.op) for layer in known))


def uniqueness(models: Iterable[Composition]) -> Uniqueness:
    """The layers of all these models together; the order of the models doesn't matter."""
    counts = Counter(fingerprint for model in models for fingerprint, _ in model.layers)
    return Uniqueness(counts.total(), len(counts))


def growth(
    models: Sequence[Composition], numbers: Sequence[int], orders: int = 100, seed: int = 0
) -> list[Growth]:
    """What holds after each of these numbers of models, in the order of `numbers`.

    The models arrive in `orders` random orders, the same ones for all numbers, and the same ones
    for the same `seed`. Raises `ValueError` if a number is not between 1 and the number of
    models, or there is no order.
    """
    if any(not 1 <= number <= len(models) for number in numbers):
        raise ValueError(f"numbers of models must be between 1 and {len(models)}: {list(numbers)}")
    if orders < 1:
        raise ValueError(f"at least one order is needed, not {orders}")
    draw = random.Random(seed)
    sizes = [(len(model.layers), _unique(model)) for model in models]
    arrivals = [_arrivals(draw.sample(sizes, len(sizes))) for _ in range(orders)]
    return [
        Growth(
            number,
            median(steps[number - 1][0] for steps in arrivals),
            median(steps[number - 1][1] for steps in arrivals),
        )
        for number in numbers
    ]


def by_operator(models: Iterable[Composition]) -> list[Repetition]:
    """Each operator's layers in all these models, most layers first, then by name."""
    layers: defaultdict[str, list[str]] = defaultdict(list)
    for model in models:
        for fingerprint, op in model.layers:
            layers[op].append(fingerprint)
    repetitions = [Repetition(op, len(these), len(set(these))) for op, these in layers.items()]
    return sorted(repetitions, key=lambda repetition: (-repetition.layers, repetition.op))


def nearest(models: Sequence[Composition]) -> list[Similar]:
    """For each model, in the order given, the nearest other one; the first by name of several.

    Raises `ValueError` if there are fewer than two models.
    """
    if len(models) < 2:
        raise ValueError(f"at least two models are needed, not {len(models)}")
    unique = [_unique(model) for model in models]
    return [_nearest(position, models, unique) for position in range(len(models))]


def _nearest(
    position: int, models: Sequence[Composition], unique: Sequence[AbstractSet[str]]
) -> Similar:
    own = unique[position]
    others = (
        (-len(own & these), other.model)
        for number, (other, these) in enumerate(zip(models, unique, strict=True))
        if number != position
    )
    less, name = min(others)
    return Similar(models[position].model, name, _share(-less, len(own)))


def _arrivals(sizes: Iterable[tuple[int, AbstractSet[str]]]) -> list[tuple[float, float]]:
    """After each model, the share of unique layers so far, and of those new among its own."""
    seen: set[str] = set()
    layers = 0
    steps = []
    for size, unique in sizes:
        new = _share(len(unique - seen), len(unique))
        seen |= unique
        layers += size
        steps.append((_share(len(seen), layers), new))
    return steps


def _unique(model: Composition) -> frozenset[str]:
    return frozenset(fingerprint for fingerprint, _ in model.layers)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
