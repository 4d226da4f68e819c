"""`benanza what-if`: bounds under other policies, from what was measured."""

from collections.abc import Iterator, Mapping, Sequence

from benanza.installation.configured import known_store
from benanza.looking.batch_sizes import by_batch_size
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import files_of, model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.request import BoundPolicy
from benanza.results.what_if import ModelWhatIfs, WhatIf, WhatIfLayers, WhatIfs
from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.answers.differences import Difference, differences
from benanza_analyzer.answers.policies import FASTEST
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import ModelIngested
from benanza_schemas.layer import Precision


def known_what_ifs(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    system: str = "",
) -> WhatIfs:
    """What the bounds of these models at these precisions would be under `POLICIES`, and at the
    other precisions that were measured on the same system; and what their samples take at each
    batch size.

    Bounds are those with groups under the accounting `full`, only of models whose named dimensions
    include `dims`. Raises `BenanzaError` for a model that has no bound.
    """
    with known_store(settings) as store:
        bounds = store.bounds(model_ids(store, models, limits_of(settings)))
        # Those at other precisions are what it is compared with.
        known = matching_bounds(bounds, BoundPolicy((), system=system), dims)
        stored = [StoredBound.of(store, bound) for bound in known]
        files = files_of(store)
    asked = [each for each in stored if not precisions or each.bound.precision in precisions]
    return WhatIfs(
        models=tuple(what_ifs_of(each, stored) for each in asked),
        batch_sizes=by_batch_size([each.bound for each in asked], files),
    )


def what_ifs_of(stored: StoredBound, others: Sequence[StoredBound]) -> ModelWhatIfs:
    """What a bound would be under other policies, and at the precisions of `others`."""
    base = stored.cover(fusion=FASTEST.fusion)
    what_ifs = (
        _what_if(name, precision, stored.model, base, cover)
        for name, precision, cover in _covers(stored, others)
    )
    matter = tuple(what_if for what_if in what_ifs if what_if.layers or what_if.more_us is None)
    return ModelWhatIfs(bound=stored.bound, what_ifs=matter)


def _covers(
    stored: StoredBound, others: Sequence[StoredBound]
) -> Iterator[tuple[str, Precision, Cover]]:
    for policy in stored.other_policies():
        cover = stored.cover(policy, fusion=policy.fusion)
        yield policy.name, stored.bound.precision, cover
    of = stored.bound
    for other in others:
        bound = other.bound
        alike = (bound.model, bound.model_id, bound.system_id) == (
            of.model,
            of.model_id,
            of.system_id,
        )
        if alike and bound.precision != of.precision:
            yield f"at {bound.precision}", bound.precision, other.cover(fusion=FASTEST.fusion)


def _what_if(
    name: str, precision: Precision, model: ModelIngested, base: Cover, cover: Cover
) -> WhatIf:
    before_us, us = base.sequential_us, cover.sequential_us
    comparable = cover.missing == base.missing
    layers = differences(cover.calls, base.calls) if comparable else []
    return WhatIf(
        name=name,
        precision=precision,
        sequential_us=us,
        more_us=us - before_us if comparable else None,
        ratio=us / before_us if comparable and before_us else None,
        lacking=cover.lacking,
        calls=sum(call.us > 0 for call in cover.calls),
        layers=differing_layers(layers, model),
    )


def differing_layers(
    differing: Sequence[Difference], model: ModelIngested
) -> tuple[WhatIfLayers, ...]:
    """The layers that make the difference, most first."""
    greatest = sorted(
        differing, key=lambda difference: (-abs(difference.saved_us), difference.positions)
    )
    return tuple(_layers(difference, model) for difference in greatest)


def _layers(difference: Difference, model: ModelIngested) -> WhatIfLayers:
    uses = [model.layers[position] for position in difference.positions]
    return WhatIfLayers(
        positions=difference.positions,
        layers=tuple(use.name for use in uses),
        op="+".join(model.summaries[use.summary].op for use in uses),
        bound_us=difference.after_us,
        us=difference.before_us,
    )
