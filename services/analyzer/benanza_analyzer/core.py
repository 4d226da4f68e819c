"""The analyzer's core: takes an event and returns the bounds that it moved.

Bounds belong to architectures, and all models of an architecture have them. A new measurement
recomputes only the architectures that contain its layer, and only for its system and precision. The
core knows no Kafka, no store and no clock.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b

import msgspec

from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.bound import caused, cover_of, lower_bound
from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_analyzer.measurements import Measurements, bests
from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.models.architectures import Architectures
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.plan import CoverPlan, cheapest_plans
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    ModelIngested,
    RecordingWithdrawn,
    SystemMeasured,
    is_submitted,
    recording_of,
)
from benanza_schemas.layer import Accounting, Precision

log = logging.getLogger(__name__)

AnalyzerEvent = ModelIngested | SystemMeasured | LayerMeasured | RecordingWithdrawn

Kind = tuple[Accounting, bool]

KINDS: tuple[Kind, ...] = (
    ("paper", False),
    ("paper", True),
    ("full", False),
    ("full", True),
)
"""The four bounds of an architecture on each platform: accounting, and whether fusion is on."""


class Platform:
    """A system at one precision, with its measurements and ceilings.

    `published` holds, by the architecture's id, digests of the bounds that were published last, in
    the order of `KINDS`; `None` for one whose bounds were published before a restart. `gaps_us`
    holds, by the architecture's id and accounting, how much less the cheapest cover may take where
    that isn't proven. `ceilings` are those of the system.
    """

    def __init__(self, system_id: str, precision: Precision, ceilings: SystemCeilings) -> None:
        self.system_id = system_id
        self.precision: Precision = precision
        self.measurements = Measurements()
        self.published: dict[str, tuple[bytes, ...] | None] = {}
        self.gaps_us: dict[tuple[str, Accounting], float] = {}
        self.ceilings = ceilings

    def known_ceilings(self) -> PlatformCeilings | None:
        """The ceilings at its precision; None unless all that a speed of light needs are known."""
        return self.ceilings.of(self.precision)


Moved = list[tuple[Platform, Collection[Architecture]]]
"""Platforms, and the architectures whose bounds may move there."""


class Analyzer:
    """All architectures, all measurements, and the bounds that follow from them.

    A platform (a system at one precision) is known from its ceilings or from its first
    measurement on. An architecture gets bounds on a platform as soon as one of these happens: its
    first model is ingested while the platform is known; the platform's ceilings are measured; one
    of its layers or groups is measured there, or fails. A bound with no measured layer has no
    figure, but says what is missing.

    An event that was handled before moves nothing. Architectures, systems and measurements may come
    in any order: the last version of a bound depends on which events came, not on their order. Only
    a withdrawal depends on it: it takes back what came before, and what is imported again later
    counts again. What was measured here counts instead of what was imported, whichever came first.
    """

    def __init__(self) -> None:
        self._catalogue = Catalogue()
        self._architectures = Architectures(self._catalogue)
        self._platforms: dict[tuple[str, Precision], Platform] = {}
        self._ceilings: dict[str, SystemCeilings] = {}
        self._gpus: set[str] = set()
        """The systems that have an accelerator."""

    def handle(
        self, event: AnalyzerEvent, now: datetime, known_to: Collection[str] = ()
    ) -> list[BoundUpdated]:
        """The new versions of the bounds that this event moves, computed at the time `now`.

        `known_to` are the ids of architectures for which the event was handled before a restart,
        though not for all: of these it is only taken in, as by `restore`. A further model of a
        known architecture moves nothing. Raises `InvalidModelError` for a model whose parts don't
        fit together; nothing has changed then.
        """
        self._compute_published(event, known_to)
        updates: list[BoundUpdated] = []
        for platform, architectures in self._apply(event):
            for architecture in architectures:
                if architecture.id in known_to:
                    platform.published[architecture.id] = None
                else:
                    updates += self._updates(platform, architecture, event, now)
        return updates

    def restore(self, event: AnalyzerEvent) -> None:
        """Takes in an event that was handled before a restart, whose bounds were published.

        Changes the analyzer as `handle` does, but computes nothing: a bound is computed once a
        later event concerns its architecture. Restore architectures before measurements where the
        order in which they were handled isn't known. Raises `InvalidModelError` as `handle` does.
        """
        for platform, architectures in self._apply(event):
            platform.published |= dict.fromkeys(architecture.id for architecture in architectures)

    def cover(
        self,
        architecture_id: str,
        system_id: str,
        precision: Precision,
        accounting: Accounting,
        *,
        fusion: bool,
    ) -> Cover:
        """The calls of a bound, one by one. Raises `KeyError` if there is no such architecture."""
        platform = self._platform(system_id, precision)
        architecture = self._architectures.of(architecture_id)
        plan = self._plans(accounting, platform, architecture)[fusion]
        least = architecture.counted(accounting).least
        return cover_of(plan, platform.measurements, self._catalogue, least, precision)

    def _apply(self, event: AnalyzerEvent) -> Moved:
        """Takes in the event; returns on which platforms it may move bounds, and which ones."""
        if isinstance(event, SystemMeasured | LayerMeasured) and event.system.accelerator:
            self._gpus.add(event.system.system_id)
        match event:
            case ModelIngested():
                former = self._architectures.get(event.architecture_id)
                architecture = self._architectures.add(event)
                if architecture is former:
                    return []
                return [(platform, (architecture,)) for platform in self._platforms.values()]
            case SystemMeasured():
                platforms = self._platforms_of(event)
                before = [platform.ceilings.values(platform.precision) for platform in platforms]
                self._system_ceilings(event.system.system_id).add(event)
                return [
                    (platform, self._architectures.all())
                    for platform, known in zip(platforms, before, strict=True)
                    if platform.ceilings.values(platform.precision) != known
                ]
            case RecordingWithdrawn():
                taken_back = self._imported_from(event)
                for ceilings in self._ceilings.values():
                    ceilings.withdraw(event.digest)
                for platform, _ in taken_back:
                    platform.measurements.withdraw(event.digest)
                return taken_back
            case LayerMeasured():
                platform = self._platform(event.system.system_id, event.precision)
                platform.measurements.know_layouts(event)
                number = self._catalogue.number(event.fingerprint)
                of = event.measured_at, recording_of(event)
                submitted = is_submitted(event)
                if not platform.measurements.add(number, bests(event), *of, submitted=submitted):
                    return []
                return [(platform, self._architectures.with_layer(number))]

    def _compute_published(self, event: AnalyzerEvent, known_to: Collection[str]) -> None:
        """Computes the former bounds that the event may move, if published before a restart."""
        moved: Moved
        match event:
            case ModelIngested():
                former = self._architectures.get(event.architecture_id)
                architectures = (former,) if former else ()
                moved = [(platform, architectures) for platform in self._platforms.values()]
            case SystemMeasured():
                platforms = self._platforms_of(event)
                moved = [(platform, self._architectures.all()) for platform in platforms]
            case RecordingWithdrawn():
                moved = self._imported_from(event)
            case LayerMeasured():
                number = self._catalogue.number(event.fingerprint)
                platform = self._platform(event.system.system_id, event.precision)
                moved = [(platform, self._architectures.with_layer(number))]
        for platform, architectures_there in moved:
            for architecture in architectures_there:
                published = platform.published.get(architecture.id, ())
                if published is None and architecture.id not in known_to:
                    bounds = self._bounds(platform, architecture)
                    platform.published[architecture.id] = tuple(map(_digest, bounds.values()))

    def _imported_from(self, event: RecordingWithdrawn) -> Moved:
        """The platforms with something of the recording, and the architectures whose bounds may
        depend on that.
        """
        moved: Moved = []
        for platform in self._platforms.values():
            if platform.ceilings.has(event.digest):
                moved.append((platform, self._architectures.all()))
            elif numbers := platform.measurements.imported_from(event.digest):
                layers = map(self._architectures.with_layer, numbers)
                by_id = {architecture.id: architecture for of in layers for architecture in of}
                moved.append((platform, by_id.values()))
        return moved

    def _updates(
        self, platform: Platform, architecture: Architecture, event: AnalyzerEvent, now: datetime
    ) -> Iterator[BoundUpdated]:
        """The bounds of an architecture that differ from those that were published last."""
        published = platform.published.get(architecture.id)
        bounds = self._bounds(
            platform,
            architecture,
            self._moved(platform, architecture, event) if published else KINDS,
        )
        digests = dict(zip(KINDS, published or (b"",) * len(KINDS), strict=True))
        for kind, bound in bounds.items():
            digest = _digest(bound)
            if digest != digests[kind]:
                digests[kind] = digest
                yield caused(bound, event.event_id, now)
        platform.published[architecture.id] = tuple(digests.values())

    def _moved(
        self, platform: Platform, architecture: Architecture, event: AnalyzerEvent
    ) -> Sequence[Kind]:
        """The bounds that an event may move: those with fusion alone, if a group was measured that
        raises no ceiling: on these the speed of light of all depends.
        """
        if isinstance(event, LayerMeasured):
            number = self._catalogue.number(event.fingerprint)
            reaches = number in architecture.full.least.numbers and platform.known_ceilings()
            if number not in architecture.full.numbers and not reaches:
                return [(accounting, fusion) for accounting, fusion in KINDS if fusion]
        return KINDS

    def _bounds(
        self, platform: Platform, architecture: Architecture, kinds: Sequence[Kind] = KINDS
    ) -> dict[Kind, BoundUpdated]:
        """The architecture's bounds of these kinds on the platform, in this order."""
        fusions = list(dict.fromkeys(fusion for _, fusion in kinds))
        paper = self._bounds_under("paper", fusions, platform, architecture)
        # Layout conversions and generated kernels count under `full` only.
        measurements = platform.measurements
        matter = measurements.layouts_matter or measurements.generated_matter
        same = architecture.paper is architecture.full and not matter
        full = (
            [msgspec.structs.replace(bound, accounting="full") for bound in paper]
            if same
            else self._bounds_under("full", fusions, platform, architecture)
        )
        return dict(zip(kinds, (*paper, *full), strict=True))

    def _bounds_under(
        self,
        accounting: Accounting,
        fusions: Sequence[bool],
        platform: Platform,
        architecture: Architecture,
    ) -> list[BoundUpdated]:
        """The bounds without fusion and with it, as far as they are asked for."""
        plans = self._plans(accounting, platform, architecture)
        self._log_gap(accounting, platform, architecture, plans[-1].blocks.gap_us)
        return [
            lower_bound(
                architecture,
                accounting,
                plans[fusion],
                platform.measurements,
                self._catalogue,
                platform.known_ceilings(),
                platform.precision,
                platform.ceilings.values(platform.precision).cache_bytes,
                system_id=platform.system_id,
                fusion=fusion,
                on_gpu=platform.system_id in self._gpus,
            )
            for fusion in fusions
        ]

    def _log_gap(
        self, accounting: Accounting, platform: Platform, architecture: Architecture, gap_us: float
    ) -> None:
        """Logs a gap that is new: the bound may be larger than the cheapest cover by so much."""
        key = architecture.id, accounting
        if gap_us == platform.gaps_us.get(key, 0.0):
            return
        platform.gaps_us[key] = gap_us
        if gap_us:
            log.warning(
                "the bound of architecture %s at %s under %s, with fusion, is not proven to be of "
                "the cheapest cover, which may take up to %.3f µs less",
                *(architecture.id, platform.precision, accounting, gap_us),
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
            self._platforms[key] = Platform(system_id, precision, self._system_ceilings(system_id))
        return self._platforms[key]

    def _platforms_of(self, event: SystemMeasured) -> list[Platform]:
        """The platforms of the system, those whose ceilings the event has among them."""
        system_id = event.system.system_id
        for ceiling in event.ceilings:
            self._platform(system_id, ceiling.precision)
        return [
            platform for platform in self._platforms.values() if platform.system_id == system_id
        ]

    def _system_ceilings(self, system_id: str) -> SystemCeilings:
        return self._ceilings.setdefault(system_id, SystemCeilings())


def _digest(bound: BoundUpdated) -> bytes:
    return blake2b(msgspec.msgpack.encode(bound), digest_size=16).digest()
