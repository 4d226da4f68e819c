"""Functions that look at what is known: bounds, what moved them, and where things stand."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import overload

from benanza import arguments
from benanza.api.common import ModelSource, Values, bound_policy, shown
from benanza.predicting.results import PredictedBounds
from benanza.request import Other
from benanza.results.bounds import Comparison, History, KnownBounds
from benanza.results.inspect import KnownLayers
from benanza.results.operating import Status
from benanza.settings import load
from benanza.turns import in_turn
from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Accounting, Precision


@overload
def bounds(
    model: ModelSource | Sequence[ModelSource] = (),
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    at: datetime | None = None,
    on: None = None,
    data: ModelSource | None = None,
) -> KnownBounds: ...


@overload
def bounds(
    model: ModelSource | Sequence[ModelSource] = (),
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    at: None = None,
    on: str | os.PathLike[str],
    data: ModelSource | None = None,
) -> PredictedBounds: ...


@in_turn
def bounds(
    model: ModelSource | Sequence[ModelSource] = (),
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    at: datetime | None = None,
    on: str | os.PathLike[str] | None = None,
    data: ModelSource | None = None,
) -> KnownBounds | PredictedBounds:
    """The bounds that are known of these models, or of all: now, or `at` a time with its zone; or
    those that are predicted for a GPU on which nothing was measured, which the file `on` describes.

    A `model` may also be a name or an id; nothing is benchmarked. Without a `precision`, all that
    were measured. The arguments are the options of `benanza bounds`. Raises `BenanzaError` for an
    invalid argument, and for a model that isn't ingested.
    """
    from benanza.looking.bounds import known_bounds

    models = arguments.model_texts("model", model) if model else ()
    policy = bound_policy(precision, fusion, accounting)
    settings = load(arguments.folder("data", data))
    bound = arguments.bound(dims, values)
    if on is None:
        time = arguments.time("at", at)
        return shown(known_bounds(settings, models, policy, bound, time))
    from benanza.predicting.known import known_predictions
    from benanza.predicting.specification import read_specification

    if at is not None:
        raise BenanzaError("with `on` bounds follow from what is known now; leave out `at`")
    target = read_specification(Path(on))
    return shown(known_predictions(settings, models, policy, bound, target))


@in_turn
def history(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    data: ModelSource | None = None,
) -> History:
    """The versions of a model's bounds, oldest first, with what moved them.

    The arguments are those of `bounds`, and it raises as that does; without a ClickHouse server it
    needs the extra `sql`.
    """
    from benanza.looking.bounds import known_history

    text = arguments.model_text("model", model)
    policy = bound_policy(precision, fusion, accounting)
    settings = load(arguments.folder("data", data))
    return shown(known_history(settings, text, policy, arguments.bound(dims, values)))


@in_turn
def layers(
    model: ModelSource | Sequence[ModelSource] = (),
    *,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> KnownLayers:
    """The unique layers and groups of these models, or of all, those that cost the most first: in
    how many models they are, how often, and their best time on each system, or why there is none.

    A `model` may also be a name or an id; nothing is benchmarked. Without a `precision`, times are
    at all that were measured. The arguments are those of `benanza layers`. Raises `BenanzaError`
    for an invalid argument, and for a model that isn't ingested.
    """
    from benanza.looking.layers import known_layers

    models = arguments.model_texts("model", model) if model else ()
    precisions = arguments.precisions("precision", precision) if precision else ()
    return shown(known_layers(load(arguments.folder("data", data)), models, precisions))


@in_turn
def status(model: ModelSource = "", *, data: ModelSource | None = None) -> Status:
    """What is ingested and measured, of all models or of one, what waits, and which services run.

    The arguments are those of `benanza status`. Raises `BenanzaError` for an invalid argument, and
    if the log can't be read.
    """
    from benanza.operating.status import NamedModel
    from benanza.operating.status import status as find_status
    from benanza_ingest.limits import limits_of

    settings = load(arguments.folder("data", data))
    text = arguments.model_text("model", model) if model else ""
    named = NamedModel(text, limits_of(settings)) if text else None
    return shown(find_status(settings, named))


@in_turn
def compare(
    model: ModelSource | Sequence[ModelSource] = (),
    *,
    other_precision: Precision | None = None,
    other_system: str = "",
    other_at: datetime | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    data: ModelSource | None = None,
) -> Comparison:
    """The bounds that are known of these models, or of all, beside those at another precision, on
    another system (its id, or how that begins) or at another time, and what makes the difference.

    Give one of the three. The other arguments are those of `bounds`; `benanza bounds --compare`
    does the same. Raises `BenanzaError` as `bounds` does, and if there are no such other bounds.
    """
    from benanza.looking.compare import known_comparison

    others = (other_precision, other_system, other_at)
    if sum(bool(other) for other in others) != 1:
        raise BenanzaError("give one of other_precision, other_system and other_at")
    comparison = known_comparison(
        load(arguments.folder("data", data)),
        arguments.model_texts("model", model) if model else (),
        bound_policy(precision, fusion, accounting),
        arguments.bound(dims, values),
        None,
        Other(
            at=arguments.time("other_at", other_at),
            precision=arguments.optional_precision("other_precision", other_precision),
            system=arguments.unicode_text("other_system", other_system),
        ),
    )
    return shown(comparison)
