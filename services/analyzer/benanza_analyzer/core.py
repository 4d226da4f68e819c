"""The analyzer's core: takes an event and returns the bounds that it moved.

A new measurement recomputes only the architectures that contain its layer, each once for all its
models, and only for its system and precision. The core knows no Kafka, no store and no clock.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from benanza_analyzer.answers.calls import Cover, cover_of
from benanza_analyzer.bound import Bound, lower_bound
from benanza_analyzer.measurements import Measurements, bests
from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.models.models import Models
from benanza_analyzer.plan import CoverPlan, cheapest_plans
from benanza_analyzer.roofline import PlatformCeilings
from benanza_schemas.events import (
    BoundUpdated,
    CeilingName,
    LayerMeasured,
    ModelIngested,
    SystemMeasured,
    event_id,
)
from benanza_schemas.layer import Accounting, Precision

log = logging.getLogger(__name__)

OfArchitectures = Collection[tuple[Architecture, Collection[str]]]
"""Architectures, each with the ids of some of its models."""

AnalyzerEvent = ModelIngested | SystemMeasured | LayerMeasured

Kind = tuple[Accounting, bool]

KINDS: tuple[Kind, ...] = (
    ("paper", False),
    ("paper", True),
    ("full", False),
    ("full", True),
)
"""The four bounds of a model on each platform: accounting, and whether fusion is on."""


class Platform:
    """A system at one precision, with its measurements and ceilings.

    `published` holds, by model id, digests of the bounds that were published last, in the order
    of `KINDS`; `None` for a model whose bounds were published before a restart. Models of one
    architecture share them. `gaps_us` holds, by the id of an architecture's first model and
    accounting, how much less the cheapest cover may take where that isn't proven. `cache_bytes` is
    the size of the last cache, zero if it isn't known.
    """

    def __init__(self, system_id: str, precision: Precision) -> None:
        self.system_id = system_id
        self.precision: Precision = precision
        self.measurements = Measurements()
        self.published: dict[str, tuple[bytes, ...] | None] = {}
        self.gaps_us: dict[tuple[str, Accounting], float] = {}
        self.cache_bytes = 0
        self._ceilings: dict[CeilingName, float] = {}

    def ceilings(self) -> PlatformCeilings | None:
        """The highest rates that were measured; None unless both are known."""
        try:
            return PlatformCeilings(self._ceilings["bandwidth"], self._ceilings["flops"])
        except KeyError:
            return None

    def raise_ceiling(self, name: CeilingName, value: float) -> bool:
        """Takes in a measured rate; returns whether it is higher than those before it."""
        if value <= self._ceilings.get(name, 0.0):
            return False
        self._ceilings[name] = value
        return True


class Covered(NamedTuple):
    """The calls that a bound adds up, in topological order.

    Each block has the positions of its layers, and its layout as a place in
    `measurements.SELECTIONS`. `conversion_us` is the time of the layout conversions in the bound,
    `interleaved_conversion_us` that in the attainable estimate.
    """

    blocks: list[tuple[tuple[int, ...], int]]
    conversion_us: float
    interleaved_conversion_us: float


class Analyzer:
    """All models, all measurements, and the bounds that follow from them.

    A platform (a system at one precision) is known from its ceilings or from its first
    measurement on. A model gets bounds on a platform as soon as one of these happens: the model
    is ingested while the platform is known; the platform's ceilings are measured; one of the
    model's layers or groups is measured there, or fails. A bound with no measured layer has no
    figure, but says what is missing.

    An event that was handled before moves nothing. Models, systems and measurements may come in
    any order: the last version of a bound depends on which events came, not on their order.
    """

    def __init__(self) -> None:
        self._catalogue = Catalogue()
        self._models = Models(self._catalogue)
        self._platforms: dict[tuple[str, Precision], Platform] = {}

    def handle(self, event: AnalyzerEvent, now: datetime) -> list[BoundUpdated]:
        """The new versions of the bounds that this event moves, computed at the time `now`.

        A model that is ingested again under the same id replaces the former one. Raises
        `InvalidModelError` for a model whose parts don't fit together; nothing has changed then.
        """
        self._settle(event)
        return [
            update
            for platform, models in self._learn(event)
            for architecture, ids in models
            for update in self._updates(platform, architecture, ids, event, now)
        ]

    def restore(self, event: AnalyzerEvent) -> None:
        """Takes in an event that was handled before a restart, whose bounds were published.

        Changes the analyzer as `handle` does, but computes nothing: a bound is computed once a
        later event concerns its model. Restore models before measurements where the order in
        which they were handled isn't known. Raises `InvalidModelError` as `handle` does.
        """
        for platform, models in self._learn(event):
            for _, ids in models:
                platform.published |= dict.fromkeys(ids)

    def covered(
        self, model_id: str, system_id: str, precision: Precision, *, fusion: bool
    ) -> Covered:
        """The calls of a bound under the accounting `full`.

        Raises `KeyError` if there is no such model.
        """
        platform = self._platform(system_id, precision)
        plan = self._plans("full", platform, self._models.architecture(model_id))[fusion]
        return Covered(
            plan.taken(),
            float(plan.conversion_us.sum()),
            float(plan.interleaved_conversion_us.sum()),
        )

    def cover(
        self,
        model_id: str,
        system_id: str,
        precision: Precision,
        accounting: Accounting,
        *,
        fusion: bool,
    ) -> Cover:
        """The calls of a bound, one by one. Raises `KeyError` if there is no such model."""
        platform = self._platform(system_id, precision)
        plan = self._plans(accounting, platform, self._models.architecture(model_id))[fusion]
        return cover_of(plan, platform.measurements, self._catalogue)

    def _learn(self, event: AnalyzerEvent) -> list[tuple[Platform, OfArchitectures]]:
        """Takes in the event; returns on which platforms, for which models, it may move bounds."""
        match event:
            case ModelIngested():
                models = ((self._models.add(event), (event.model_id,)),)
                return [(platform, models) for platform in self._platforms.values()]
            case SystemMeasured():
                raised: dict[Platform, None] = {}
                for ceiling in event.ceilings:
                    platform = self._platform(event.system.system_id, ceiling.precision)
                    if platform.raise_ceiling(ceiling.name, ceiling.value):
                        raised[platform] = None
                    if event.cache_bytes > platform.cache_bytes:
                        platform.cache_bytes = event.cache_bytes
                        raised[platform] = None
                return [(platform, self._models.all()) for platform in raised]
            case LayerMeasured():
                platform = self._platform(event.system.system_id, event.precision)
                platform.measurements.name_layouts(event)
                number = self._catalogue.number(event.fingerprint)
                if not platform.measurements.add(number, bests(event), event.measured_at):
                    return []
                return [(platform, self._models.with_layer(number))]

    def _settle(self, event: AnalyzerEvent) -> None:
        """Computes the former bounds that the event may move, if published before a restart."""
        models: OfArchitectures
        match event:
            case ModelIngested():
                former = self._models.get(event.model_id)
                models = ((former, (event.model_id,)),) if former else ()
                platforms: Collection[Platform] = self._platforms.values()
            case SystemMeasured():
                models = self._models.all()
                platforms = self._platforms_of(event)
            case LayerMeasured():
                models = self._models.with_layer(self._catalogue.number(event.fingerprint))
                platforms = (self._platform(event.system.system_id, event.precision),)
        for platform in platforms:
            for architecture, ids in models:
                restored = [each for each in ids if platform.published.get(each, ()) is None]
                if restored:
                    bounds = self._bounds(platform, architecture)
                    digests = tuple(map(_digest, bounds.values()))
                    platform.published |= dict.fromkeys(restored, digests)

    def _updates(
        self,
        platform: Platform,
        architecture: Architecture,
        ids: Collection[str],
        event: AnalyzerEvent,
        now: datetime,
    ) -> Iterator[BoundUpdated]:
        """The bounds of these models of an architecture that differ from the published ones."""
        cause = event.event_id
        new = any(platform.published.get(model_id) is None for model_id in ids)
        kinds = KINDS if new else self._moved(architecture, event)
        bounds = self._bounds(platform, architecture, kinds)
        computed = {kind: _digest(bound) for kind, bound in bounds.items()}
        first = self._models.first_of(architecture)
        for model_id in ids:
            published = platform.published.get(model_id) or (b"",) * len(KINDS)
            digests = dict(zip(KINDS, published, strict=True))
            for (accounting, fusion), bound in bounds.items():
                if computed[accounting, fusion] == digests[accounting, fusion]:
                    continue
                key = (model_id, platform.system_id, platform.precision, accounting, str(fusion))
                yield BoundUpdated(
                    event_id=event_id("BoundUpdated", *key, cause),
                    model_id=model_id,
                    system_id=platform.system_id,
                    batch=architecture.batch,
                    precision=platform.precision,
                    accounting=accounting,
                    fusion=fusion,
                    cause=cause,
                    computed_at=now,
                    **msgspec.structs.asdict(bound),
                )
            found = tuple((digests | computed).values())
            of_first = platform.published.get(first)
            platform.published[model_id] = of_first if of_first == found else found

    def _moved(self, architecture: Architecture, event: AnalyzerEvent) -> Sequence[Kind]:
        """The bounds that an event may move: those with fusion alone, if a group was measured."""
        if isinstance(event, LayerMeasured):
            number = self._catalogue.number(event.fingerprint)
            if number not in architecture.full.numbers:
                return [(accounting, fusion) for accounting, fusion in KINDS if fusion]
        return KINDS

    def _bounds(
        self, platform: Platform, architecture: Architecture, kinds: Sequence[Kind] = KINDS
    ) -> dict[Kind, Bound]:
        """The architecture's bounds of these kinds on the platform, in this order."""
        fusions = list(dict.fromkeys(fusion for _, fusion in kinds))
        paper = self._bounds_under("paper", fusions, platform, architecture)
        # Layout conversions and generated kernels count under `full` only.
        measurements = platform.measurements
        matter = measurements.layouts_matter or measurements.generated_matter
        same = architecture.paper is architecture.full and not matter
        full = paper if same else self._bounds_under("full", fusions, platform, architecture)
        return dict(zip(kinds, (*paper, *full), strict=True))

    def _bounds_under(
        self,
        accounting: Accounting,
        fusions: Sequence[bool],
        platform: Platform,
        architecture: Architecture,
    ) -> list[Bound]:
        """The bounds without fusion and with it, as far as they are asked for."""
        plans = self._plans(accounting, platform, architecture)
        self._tell(accounting, platform, architecture, plans[-1].blocks.gap_us)
        return [
            lower_bound(
                architecture,
                accounting,
                plan,
                platform.measurements,
                self._catalogue,
                platform.ceilings(),
                platform.precision,
                platform.cache_bytes,
            )
            for plan in (plans[fusion] for fusion in fusions)
        ]

    def _tell(
        self, accounting: Accounting, platform: Platform, architecture: Architecture, gap_us: float
    ) -> None:
        """Logs a gap that is new: the bound may be larger than the cheapest cover by so much."""
        first = self._models.first_of(architecture)
        key = first, accounting
        if gap_us == platform.gaps_us.get(key, 0.0):
            return
        platform.gaps_us[key] = gap_us
        if gap_us:
            log.warning(
                "the bound of model %s at %s under %s, with fusion, is not proven to be of the "
                "cheapest cover, which may take up to %.3f µs less",
                *(first, platform.precision, accounting, gap_us),
            )

    def _plans(
        self, accounting: Accounting, platform: Platform, architecture: Architecture
    ) -> tuple[CoverPlan, CoverPlan]:
        """The plans of the bounds without fusion and with it."""
        platform.measurements.reach(len(self._catalogue))
        return cheapest_plans(architecture, accounting, platform.measurements)

    def _platform(self, system_id: str, precision: Precision) -> Platform:
        key = (system_id, precision)
        if key not in self._platforms:
            self._platforms[key] = Platform(system_id, precision)
        return self._platforms[key]

    def _platforms_of(self, event: SystemMeasured) -> list[Platform]:
        """The platforms whose ceilings the event has; unknown ones are added."""
        precisions = dict.fromkeys(ceiling.precision for ceiling in event.ceilings)
        return [self._platform(event.system.system_id, precision) for precision in precisions]


def _digest(bound: Bound) -> bytes:
    return blake2b(msgspec.msgpack.encode(bound), digest_size=16).digest()
