"""What a report is made of, read from the store."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from benanza.installation.configured import known_store
from benanza.looking.advise import advice_about
from benanza.looking.bounds import matching_bounds
from benanza.looking.calls.forms import CallForm, forms_of
from benanza.looking.explain import explained
from benanza.looking.model_ids import model_ids, of_the_same_file
from benanza.looking.stored_bound import StoredBound
from benanza.looking.what_if import what_ifs_of
from benanza.profiling.beside_bound import profiles_of
from benanza.render.bounds import model_at
from benanza.render.systems import ID_SHOWN, SystemNames
from benanza.request import BoundPolicy
from benanza.results.advise import ModelAdvice
from benanza.results.explain import ExplainedCall
from benanza.results.profile import ModelProfile
from benanza.results.what_if import WhatIf
from benanza.running.progress import RunProgress, Silent
from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import System
from benanza_schemas.layer import Precision


class ReportedNode(NamedTuple):
    """A node of a model: its operator and name, and the fingerprint of its layer, empty for one
    that was skipped.
    """

    op: str
    name: str
    fingerprint: str


class ReportedBound(NamedTuple):
    """A bound with all that a report says of it. No other one in the report has its `title`.

    `file` is the SHA-256 of the model's file.
    `calls` are in an order in which they can run. `nodes` are the model's layers by position, and
    `edges` lead between positions.
    `ceilings` are the system's highest rates, None where they aren't known. `measured` is when
    the first and the last of its calls were measured. `runs` are the newest runs by frameworks on
    the same device, with advice, the fastest first. `at_precisions` are the model's whole
    bounds at other precisions on the same system, in microseconds. `forms` are those of the calls
    and the nodes by fingerprint; of what has none, it isn't known.
    """

    title: str
    file: str
    bound: ModelBound
    calls: tuple[ExplainedCall, ...]
    nodes: tuple[ReportedNode, ...]
    edges: tuple[tuple[int, int], ...]
    ceilings: PlatformCeilings | None
    system: System
    measured: tuple[datetime, datetime]
    what_ifs: tuple[WhatIf, ...]
    at_precisions: Mapping[Precision, float]
    runs: tuple[ModelAdvice, ...]
    forms: Mapping[str, CallForm]

    @property
    def known(self) -> bool:
        """Whether any of its layers was measured."""
        return self.bound.sequential_us is not None

    @property
    def looked_into(self) -> ModelAdvice | None:
        """The fastest run of which it is known where its time goes, else the fastest."""
        return next((run for run in self.runs if run.profile.parts), (*self.runs, None)[0])

    @property
    def timed(self) -> ModelProfile | None:
        """The run in which the calls of `looked_into` were timed, where that is known."""
        if self.looked_into is None:
            return None
        run = self.looked_into.profile
        others = (other.profile for other in self.runs)
        return next((of for of in others if of.configuration == run.calls_of), run)

    @property
    def knows_memory(self) -> bool:
        """Whether it has calls, and what they read and give is known of all of them."""
        return bool(self.calls) and all(call.alive_bytes is not None for call in self.calls)

    @property
    def device(self) -> str:
        """The accelerator or, without one, the CPU."""
        return self.system.accelerator or self.system.cpu


def reported_bounds(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    system: str = "",
    progress: RunProgress | None = None,
) -> list[ReportedBound]:
    """The bounds of these models with fusion under the accounting `full`, at these precisions, in
    the order in which both are named.

    Raises `BenanzaError` for a model that has no bound.
    """
    with known_store(settings) as store:
        limits = limits_of(settings)
        of_models = [model_ids(store, [model], limits) for model in models]
        ids = list(itertools.chain.from_iterable(of_models))
        bounds = store.bounds(ids)
        policy = BoundPolicy(tuple(precisions), system=system)
        known = matching_bounds(bounds, BoundPolicy((), system=system), dims)
        asked = sorted(matching_bounds(bounds, policy, dims), key=_in_order(of_models, precisions))
        stored = [StoredBound.of(store, bound) for bound in asked]
        profiles = profiles_of(store, ids, bounds)
        alike = of_the_same_file(store, bounds)
        forms = forms_of(store, stored)
    advised = [
        advice_about(profile, profiles, alike.get(profile.model_id, ())) for profile in profiles
    ]
    titles = _titles([stored_bound.bound for stored_bound in stored])
    progress = progress or Silent()
    progress.stage("asking what bounds would be otherwise", len(stored))
    found = []
    for stored_bound, title in zip(stored, titles, strict=True):
        found.append(_reported(stored_bound, title, advised, known, forms))
        progress.advance()
    return found


def _in_order(
    of_models: Sequence[Sequence[str]], precisions: Sequence[Precision]
) -> Callable[[ModelBound], tuple[int, int, list[tuple[str, int]], int]]:
    """What sorts bounds as their models, with these ids, were asked for; those of one model by
    batch and dimensions; and those of one size as the precisions were asked for.
    """

    def places(bound: ModelBound) -> tuple[int, int, list[tuple[str, int]], int]:
        model = next(place for place, ids in enumerate(of_models) if bound.model_id in ids)
        precision = precisions.index(bound.precision) if precisions else 0
        return model, bound.batch, sorted(bound.dims.items()), precision

    return places


def _titles(bounds: Sequence[ModelBound]) -> list[str]:
    """What the bounds are called, each differently."""
    systems = SystemNames(bounds)
    titles = [f"{model_at(bound)}, {bound.precision}, {systems.name(bound)}" for bound in bounds]
    return [
        title if titles.count(title) == 1 else f"{title}, model {bound.model_id[:ID_SHOWN]}"
        for title, bound in zip(titles, bounds, strict=True)
    ]


def _at_precisions(bound: ModelBound, known: Sequence[ModelBound]) -> dict[Precision, float]:
    same = bound.model, bound.model_id, bound.system_id
    return {
        other.precision: other.sequential_us
        for other in known
        if (other.model, other.model_id, other.system_id) == same
        and other.precision != bound.precision
        and other.sequential_us
        and not other.partial
    }


def _reported(
    stored: StoredBound,
    title: str,
    advised: Sequence[ModelAdvice],
    known: Sequence[ModelBound],
    forms: Mapping[str, CallForm],
) -> ReportedBound:
    bound = stored.bound
    calls = sorted(explained(stored, forms).calls, key=lambda call: call.order)
    used = {call.fingerprint for call in calls}
    model = stored.model
    of_layers = [(model.summaries[use.summary], use.name) for use in model.layers]
    nodes = tuple(ReportedNode(of.op, name, of.fingerprint) for of, name in of_layers)
    shown = used.union(node.fingerprint for node in nodes)
    times = [
        measurement.measured_at
        for measurement in stored.measurements
        if measurement.fingerprint in used
    ]
    times = times or [stored.system.measured_at]
    runs = [run for run in advised if run.profile.us is not None and stored.is_beside(run.profile)]
    return ReportedBound(
        title=title,
        file=stored.model.sha256,
        bound=bound,
        calls=tuple(calls),
        nodes=nodes,
        edges=stored.model.edges,
        ceilings=stored.ceilings(),
        system=stored.system.system,
        measured=(min(times), max(times)),
        what_ifs=what_ifs_of(stored, ()).what_ifs,
        at_precisions=_at_precisions(bound, known),
        runs=tuple(sorted(runs, key=lambda run: run.profile.us or 0.0)),
        forms={each: forms[each] for each in sorted(shown & forms.keys())},
    )
