"""Whatever order recordings come in, ceilings, speeds of light, bounds and attainable estimates are
the same, and what each says alone is left as it is.
"""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from random import Random

import pytest
from msgspec.structs import replace

from benanza_analyzer.core import Analyzer
from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_schemas.events import (
    MARK,
    BoundUpdated,
    LayerMeasured,
    ModelIngested,
    SystemMeasured,
)
from benanza_schemas.layer import Precision
from tests.analyzer.events import NOW
from tests.analyzer.recorded_cuts import cut_models, cuts

Figures = dict[tuple[str, ...], BoundUpdated]
Ceilings = dict[tuple[str, Precision], PlatformCeilings]

PRECISIONS: tuple[Precision, ...] = ("fp32", "tf32", "fp16", "bf16")


@cache
def recordings() -> dict[str, tuple[SystemMeasured | LayerMeasured, ...]]:
    """Those that the cuts are of, each marked as imported from its file."""
    return {
        name: tuple(_marked(name, event) for event in events) for name, events in cuts().items()
    }


def _marked(name: str, event: SystemMeasured | LayerMeasured) -> SystemMeasured | LayerMeasured:
    digest = sha256(name.encode()).hexdigest()
    if isinstance(event, SystemMeasured):
        return replace(event, imported_from=digest)
    return replace(event, environment={**event.environment, MARK: digest})


@cache
def models() -> tuple[ModelIngested, ...]:
    return tuple(cut_models())


def imported(names: Iterable[str]) -> tuple[Figures, Ceilings]:
    """The full bounds once these recordings were imported, in this order, and the ceilings."""
    analyzer = Analyzer()
    ceilings: dict[str, SystemCeilings] = {}
    for name in names:
        for event in recordings()[name]:
            analyzer.restore(event)
            if isinstance(event, SystemMeasured):
                ceilings.setdefault(event.system.system_id, SystemCeilings()).add(event)
    bounds = {
        (f"{model.name}, batch {model.batch}", *_key(bound)): bound
        for model in models()
        for bound in analyzer.handle(model, NOW)
        if bound.accounting == "full"
    }
    values = {
        (system, precision): of.values(precision)
        for system, of in ceilings.items()
        for precision in PRECISIONS
    }
    return bounds, values


def _key(bound: BoundUpdated) -> tuple[str, ...]:
    return bound.system_id, bound.precision, str(bound.fusion)


@cache
def together() -> tuple[Figures, Ceilings]:
    return imported(recordings())


@pytest.mark.parametrize("seed", [1, 2])
def test_no_order_changes_a_figure(seed: int) -> None:
    names = list(recordings())
    Random(seed).shuffle(names)
    assert imported(names) == together()


def test_each_alone_says_the_same() -> None:
    """Bounds that one recording has alone are those with all of them. Others only add ceilings:
    each is the highest that any of them has.
    """
    bounds, ceilings = together()
    highest: dict[tuple[str, Precision], PlatformCeilings] = {}
    compared = 0
    for name in recordings():
        alone, of_alone = imported([name])
        for of, values in of_alone.items():
            known = highest.get(of, PlatformCeilings(0.0, 0.0))
            highest[of] = PlatformCeilings(*map(max, known, values))
        for key, bound in alone.items():
            if bound.missing or not bound.measured:
                continue
            compared += 1
            with_all = bounds[key]
            for figure in ("sequential_us", "parallel_us", "cover", "missing", "measured"):
                assert getattr(with_all, figure) == getattr(bound, figure), (name, key, figure)
            if not bound.attainable_error_us and bound.attainable_us is not None:
                assert with_all.attainable_us == bound.attainable_us
            if bound.roofline_us is not None:
                assert with_all.roofline_us is not None
                assert with_all.sequential_us is not None
                assert with_all.roofline_us <= with_all.sequential_us
    assert ceilings == highest
    assert compared > 10
