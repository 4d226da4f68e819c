"""Which of a bound's time quantised products take, before and after."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import networkx

from benanza.quantised.worth import ProductWorth
from benanza_analyzer.answers.calls import Call
from benanza_schemas.events import ModelIngested

PRODUCTS = frozenset(("Conv", "Gemm", "MatMul"))

Key = tuple[str, int]
"""A layer by its name, and which of the layers of this name it is: what is derived of a model keeps
the names of its layers.
"""

Shapes = Mapping[str, Sequence[Sequence[int]]]
"""The shapes of the inputs of layers, by fingerprint."""


def product_worths(
    model: ModelIngested,
    calls: Sequence[Call],
    quantised: ModelIngested,
    quantised_calls: Sequence[Call],
    shapes: Shapes,
) -> list[ProductWorth]:
    """The products that are quantised, the greatest saving first. Calls are those of the bounds.

    Layers that a call of either bound computes together are one, and so are a product and what is
    a part of it once it is quantised. A call of what is new alone, such as of a QuantizeLinear,
    belongs to what reads its result first.
    """
    keys, others = _keys(model), _keys(quantised)
    before = [(_of(call, keys), call) for call in calls]
    after = [(_known(call, others, {*keys}, quantised), call) for call in quantised_calls]
    graph = networkx.Graph()
    graph.add_nodes_from(keys)
    for members, _ in (*before, *after):
        networkx.add_path(graph, members)
    us, quantised_us = _by_key(before), _by_key(after)
    fingerprints = dict(zip(others, _fingerprints(quantised), strict=True))
    own = dict(zip(keys, _fingerprints(model), strict=True))
    ops = {
        key: model.summaries[use.summary].op for key, use in zip(keys, model.layers, strict=True)
    }
    for source, target in model.edges:
        # A quantised product may have taken the sum with its bias in.
        if keys[target] not in fingerprints and ops[keys[source]] in PRODUCTS:
            graph.add_edge(keys[source], keys[target])
    position = {key: place for place, key in enumerate(keys)}
    worths = []
    for part in networkx.connected_components(graph):
        products = sorted(
            (key for key in part if ops[key] in PRODUCTS and fingerprints.get(key) != own[key]),
            key=position.__getitem__,
        )
        if products:
            data, weights = (*shapes.get(own[products[0]], ()), (), ())[:2]
            worths.append(
                ProductWorth(
                    layers=tuple(name for name, _ in products),
                    op=ops[products[0]],
                    data=tuple(data),
                    weights=tuple(weights),
                    us=math.fsum(us[key] for key in part),
                    quantised_us=math.fsum(quantised_us[key] for key in part),
                )
            )
    return sorted(worths, key=lambda worth: (-worth.saved_us, worth.layers))


def product_fingerprints(model: ModelIngested) -> list[str]:
    """Those of a model's products."""
    return [summary.fingerprint for summary in model.summaries if summary.op in PRODUCTS]


def _keys(model: ModelIngested) -> list[Key]:
    seen: Counter[str] = Counter()
    keys = []
    for use in model.layers:
        keys.append((use.name, seen[use.name]))
        seen[use.name] += 1
    return keys


def _of(call: Call, keys: Sequence[Key]) -> list[Key]:
    return [keys[position] for position in call.positions]


def _known(call: Call, keys: Sequence[Key], known: set[Key], model: ModelIngested) -> list[Key]:
    """The layers of a call that the model has as it is written, or the first that reads them."""
    members = [key for key in _of(call, keys) if key in known]
    return members or list(_readers(call.positions, keys, known, model))[:1]


def _readers(
    positions: Iterable[int], keys: Sequence[Key], known: set[Key], model: ModelIngested
) -> Iterator[Key]:
    reached = set(positions)
    for source, target in model.edges:  # sorted, so that what is passed on is reached in order
        if source in reached:
            if keys[target] in known:
                yield keys[target]
            else:
                reached.add(target)


def _by_key(calls: Iterable[tuple[Sequence[Key], Call]]) -> dict[Key, float]:
    """The time of each call, by the first of its layers."""
    us: dict[Key, float] = defaultdict(float)
    for members, call in calls:
        if members:
            us[members[0]] += call.us + call.conversion_us
    return us


def _fingerprints(model: ModelIngested) -> list[str]:
    return [model.summaries[use.summary].fingerprint for use in model.layers]
