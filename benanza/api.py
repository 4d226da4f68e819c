"""The Python API: the words of the command line, returning typed objects.

What takes long to import is imported where it is used, so that `import benanza` is quick.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar, overload

from benanza import arguments
from benanza.evaluating.request import MOST_AT_ONCE, EvaluationRequest, Scenario, Seeds
from benanza.evaluating.results import EvaluatedModel
from benanza.gating.results import Gate
from benanza.predicting.results import PredictedBounds
from benanza.quantised.worth import QuantisationWorths
from benanza.request import BoundPolicy, RunRequest
from benanza.results.advise import Advised
from benanza.results.bounds import History, KnownBounds, LowerBounds
from benanza.results.explain import Explanations
from benanza.results.inspect import Inspection, KnownLayers
from benanza.results.operating import Status
from benanza.results.profile import Profiles
from benanza.results.publish import Published
from benanza.results.result import Result
from benanza.results.what_if import WhatIfs
from benanza.settings import load
from benanza.tokens.generation import Generation
from benanza.tracing.results import TraceAnswer
from benanza.turns import in_turn
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.given_values import Element
from benanza_schemas.layer import Accounting, Precision

Given = TypeVar("Given", bound=Result)

ModelSource = str | os.PathLike[str]
"""A path, a `file:`, `http:`, `https:` or `s3:` address, or `zoo:NAME`."""

Values = Element | Sequence[Element]
"""What an input holds: one number, `True` or `False`, or several in row-major order."""


@in_turn
def inspect(
    model: ModelSource,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    quantised: Quantised = "",
    tensor_parallel: int = 1,
) -> Inspection:
    """The layers of a model: what each computes, what it moves, and what was skipped and why.

    `batch` None means the model's own batch size, and 1 where it leaves that open; `dims`
    gives named dimensions their sizes, `values` small inputs their elements, as in `{"sr": 16000}`.
    With `quantised` weights of that type, and split over `tensor_parallel` GPUs.
    Raises `BenanzaError` for an argument that can't be, and if the model can't be fetched, is none,
    or is larger than the limits.
    """
    from benanza.looking.inspect import inspect_model
    from benanza_ingest.limits import limits_of

    inspection = inspect_model(
        arguments.model_text("model", model),
        arguments.batch_size("batch", batch),
        arguments.bound(dims, values),
        limits_of(load(None)),
        arguments.derivation(quantised, tensor_parallel),
    )
    return _shown(inspection)


@in_turn
def lower_bound(
    model: ModelSource | Sequence[ModelSource],
    *,
    batch: int | Sequence[int] = (),
    dims: Mapping[str, int | Sequence[int] | str] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = "fp32",
    fusion: bool = True,
    runtime: str = "auto",
    accounting: Accounting = "full",
    quantised: Quantised | Sequence[Quantised] = (),
    tensor_parallel: int | Sequence[int] = (),
    data: ModelSource | None = None,
) -> LowerBounds:
    """How fast one or more models could run on this machine.

    Benchmarks what was never measured here before; that takes a while, and is kept in the
    folder `data` (by default that of `BENANZA_DATA`). The arguments are the options of
    `benanza run`. Several sizes in `dims` are a sweep, as in `{"past": [1024, 4096]}`, and a text
    says what follows from others, as in `{"total": "past+1"}`. With types of weights (`quantised`)
    or numbers of GPUs (`tensor_parallel`) also what each makes of the models has its bounds. Raises
    `BenanzaError` for an argument that can't be, before anything is done, and if any model can't be
    fetched or ingested; what was measured by then is kept.
    """
    from benanza.running.pipeline import run

    bound = arguments.swept(dims, values)
    request = RunRequest(
        models=arguments.model_texts("model", model),
        batch_sizes=arguments.batch_sizes("batch", batch),
        dims=bound.dims,
        sweep=bound.sweep,
        derived=bound.derived,
        policy=BoundPolicy(
            precisions=arguments.precisions("precision", precision),
            fusion=arguments.switch("fusion", fusion),
            accounting=arguments.accounting_choice("accounting", accounting),
        ),
        runtime=arguments.runtime_choice("runtime", runtime),
        derivations=arguments.derivations(quantised, tensor_parallel),
    )
    lower_bounds = run(request, load(arguments.folder("data", data)))
    if lower_bounds.errors:
        raise BenanzaError("; ".join(failed.reason for failed in lower_bounds.errors))
    return _shown(lower_bounds)


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
    were measured. The arguments are the options of `benanza bounds`. Raises `BenanzaError` for one
    that can't be, and for a model that isn't ingested.
    """
    from benanza.looking.bounds import known_bounds

    models = arguments.model_texts("model", model) if model else ()
    policy = _policy(precision, fusion, accounting)
    settings = load(arguments.folder("data", data))
    bound = arguments.bound(dims, values)
    if on is None:
        return _shown(known_bounds(settings, models, policy, bound, at))
    from benanza.predicting.known import known_predictions
    from benanza.predicting.specification import read_specification

    if at is not None:
        raise BenanzaError("with `on` bounds follow from what is known now; leave out `at`")
    target = read_specification(Path(on))
    return _shown(known_predictions(settings, models, policy, bound, target))


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

    The arguments are those of `bounds`, and it raises as that does.
    """
    from benanza.looking.bounds import known_history

    text = arguments.model_text("model", model)
    policy = _policy(precision, fusion, accounting)
    settings = load(arguments.folder("data", data))
    return _shown(known_history(settings, text, policy, arguments.bound(dims, values)))


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
    for one that can't be, and for a model that isn't ingested.
    """
    from benanza.looking.layers import known_layers

    models = arguments.model_texts("model", model) if model else ()
    precisions = arguments.precisions("precision", precision) if precision else ()
    return _shown(known_layers(load(arguments.folder("data", data)), models, precisions))


@in_turn
def status(model: ModelSource = "", *, data: ModelSource | None = None) -> Status:
    """What is ingested and measured, of all models or of one, what waits, and who works.

    The arguments are those of `benanza status`. Raises `BenanzaError` for one that can't be, and if
    the log can't be read.
    """
    from benanza.operating.status import status as find_status

    text = arguments.model_text("model", model) if model else ""
    return _shown(find_status(load(arguments.folder("data", data)), text))


@in_turn
def explain(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    data: ModelSource | None = None,
) -> Explanations:
    """Where the time of a model's known bounds goes: the calls that they add up.

    `model` may also be a name or an id; nothing is benchmarked. The arguments are the options of
    `benanza explain`. Raises `BenanzaError` for one that can't be, and if no bound of the model is
    known.
    """
    from benanza.looking.explain import known_explanations

    policy = _policy(precision, fusion, accounting)
    explanations = known_explanations(
        load(arguments.folder("data", data)),
        [arguments.model_text("model", model)],
        policy,
        arguments.bound(dims, values),
    )
    return _shown(explanations)


@in_turn
def what_if(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> WhatIfs:
    """What a model's known bounds would be under other policies: without fusion, with calls of
    libraries alone, in one layout, at another precision; and what its samples take at each batch
    size.

    `model` may also be a name or an id; nothing is benchmarked. The arguments are the options of
    `benanza what-if`. Raises `BenanzaError` as `explain` does.
    """
    from benanza.looking.what_if import known_what_ifs

    what_ifs = known_what_ifs(
        load(arguments.folder("data", data)),
        [arguments.model_text("model", model)],
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
    )
    return _shown(what_ifs)


@in_turn
def what_if_quantised(
    model: ModelSource,
    quantised: Quantised | Sequence[Quantised],
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> QuantisationWorths:
    """What weights of these types would be worth for a model, product by product.

    It compares known bounds of the model and of what `lower_bound` made of it with `quantised`;
    nothing is benchmarked. The arguments are those of `benanza what-if --quantised`. Raises
    `BenanzaError` as `explain` does, and if no bound with such weights is known.
    """
    from benanza.quantised.known import known_quantisations

    worths = known_quantisations(
        load(arguments.folder("data", data)),
        arguments.model_text("model", model),
        arguments.quantised_types("quantised", quantised),
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
    )
    return _shown(worths)


@in_turn
def generation(
    step: ModelSource,
    *,
    prompt: ModelSource | None = None,
    price: float | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> Generation:
    """What the tokens take that a decoder generates, by its known bounds: times to the first and
    for each, tokens a second and, with a price an hour, the cost of a million.

    Models may also be names or ids; nothing is benchmarked. The arguments are the options of
    `benanza generation`. Raises `BenanzaError` as `explain` does.
    """
    from benanza.tokens.known import known_generation

    known = known_generation(
        load(arguments.folder("data", data)),
        None if prompt is None else arguments.model_text("prompt", prompt),
        arguments.model_text("step", step),
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
        arguments.price("price", price),
    )
    return _shown(known)


@in_turn
def profile(
    model: ModelSource | Sequence[ModelSource],
    *,
    framework: str = "onnxruntime",
    all_configurations: bool = False,
    batch: int | Sequence[int] = (),
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = "fp32",
    data: ModelSource | None = None,
) -> Profiles:
    """How long one or more models take in a framework, call by call, beside their known bounds.

    The arguments are the options of `benanza profile`; what was found is kept in `data`. A model
    that the framework can't run is among the profiles, with its `failure`. Raises `BenanzaError`
    for an argument that can't be, if there is no such framework, and if any model can't be read.
    """
    from benanza.profiling.profile import ProfileRequest
    from benanza.profiling.profile import profile as run_profile

    request = RunRequest(
        models=arguments.model_texts("model", model),
        batch_sizes=arguments.batch_sizes("batch", batch),
        dims=arguments.bound(dims, values),
        policy=BoundPolicy(arguments.precisions("precision", precision)),
    )
    profiles = run_profile(
        ProfileRequest(
            request,
            framework,
            arguments.switch("all_configurations", all_configurations),
        ),
        load(arguments.folder("data", data)),
    )
    if profiles.errors:
        raise BenanzaError("; ".join(failed.reason for failed in profiles.errors))
    return _shown(profiles)


@in_turn
def evaluate(
    model: ModelSource,
    *,
    framework: str = "onnxruntime",
    scenario: Scenario = "single-stream",
    precision: Precision = "fp32",
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    duration_s: float = 10.0,
    max_batch: int = 8,
    max_wait_ms: float = 2.0,
    limit_ms: float | None = None,
    rate: float | None = None,
    streams: int = 8,
    seed: int = 0,
    data: ModelSource | None = None,
) -> EvaluatedModel:
    """A model in a framework under the load of a scenario of MLPerf's LoadGen, beside its bound.

    The arguments are the options of `benanza evaluate`. What LoadGen says of the run is in
    `evaluation.measured.validity`. Raises `BenanzaError` for an argument that can't be, as
    `profile` does, without the extra `evaluate`, and where nothing could be measured.
    """
    from benanza.evaluating.command import evaluate as run_evaluation

    request = EvaluationRequest(
        model=arguments.model_text("model", model),
        framework=framework,
        precision=arguments.optional_precision("precision", precision) or "fp32",
        scenario=arguments.scenario_choice("scenario", scenario),
        dims=arguments.bound(dims, values),
        seeds=Seeds(*[arguments.whole_number("seed", seed, least=0)] * 3),
        duration_s=arguments.ratio("duration_s", duration_s) or 10.0,
        max_batch=arguments.whole_number("max_batch", max_batch, most=MOST_AT_ONCE),
        max_wait_us=1_000 * (arguments.price("max_wait_ms", max_wait_ms) or 0.0),
        limit_us=None if limit_ms is None else 1_000 * (arguments.ratio("limit_ms", limit_ms) or 0),
        rate_per_s=arguments.ratio("rate", rate),
        streams=arguments.whole_number("streams", streams, most=MOST_AT_ONCE),
    )
    found = run_evaluation(request, load(arguments.folder("data", data)))
    if found.evaluation.measured is None:
        raise BenanzaError(found.evaluation.failure)
    return _shown(found)


@in_turn
def gate(
    model: ModelSource | Sequence[ModelSource],
    *,
    max_ratio: float | None = None,
    no_slower_than: str | os.PathLike[str] | datetime | None = None,
    stored: bool = False,
    framework: str = "onnxruntime",
    batch: int | Sequence[int] = (),
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = "fp32",
    data: ModelSource | None = None,
) -> Gate:
    """Whether one or more models run at most `max_ratio` times as long as their bounds, and no
    slower than before: than in a file with the document of an earlier gate, or than the last run
    that was stored by a time.

    The arguments are the options of `benanza gate`; what was found is kept in `data`. What comes of
    it is in `verdict`, and in `runs` for each model. Raises `BenanzaError` for an argument that
    can't be, as `profile` does, for an earlier gate that can't be read, and without any limit.
    """
    from benanza.gating.gate import GateLimits
    from benanza.gating.gate import gate as check_runs

    if max_ratio is None and no_slower_than is None:
        raise BenanzaError("give max_ratio, no_slower_than, or both")
    request = RunRequest(
        models=arguments.model_texts("model", model),
        batch_sizes=arguments.batch_sizes("batch", batch),
        dims=arguments.bound(dims, values),
        policy=BoundPolicy(arguments.precisions("precision", precision)),
    )
    checked = check_runs(
        request,
        framework,
        GateLimits(
            arguments.ratio("max_ratio", max_ratio),
            arguments.file_or_time("no_slower_than", no_slower_than),
        ),
        load(arguments.folder("data", data)),
        stored=arguments.switch("stored", stored),
    )
    if checked.errors:
        raise BenanzaError("; ".join(failed.reason for failed in checked.errors))
    return _shown(checked)


@in_turn
def trace(
    file: str | os.PathLike[str],
    *,
    publish: bool = False,
    precision: Precision | None = None,
    data: ModelSource | None = None,
) -> TraceAnswer:
    """Where the time of a run went that another profiler recorded, and what bounds would save.

    `file` is a trace of PyTorch's or ONNX Runtime's profiler, or a report of Nsight Systems as
    SQLite. With `publish` its operators are published as a model, so that their layers are
    measured. A report was run at `precision`: it has shapes without types. Raises `BenanzaError`
    for an argument that can't be, and if the file is no trace.
    """
    from benanza.tracing.answer import trace_answer

    answer = trace_answer(
        Path(file),
        load(arguments.folder("data", data)),
        publishes=arguments.switch("publish", publish),
        precision=arguments.optional_precision("precision", precision),
    )
    return _shown(answer)


@in_turn
def advise(
    model: ModelSource,
    *,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> Advised:
    """What would make a model faster in the frameworks that `profile` ran it in, and what each
    remedy is worth.

    `model` may also be a name or an id; nothing is run. The arguments are the options of
    `benanza advise`. Raises `BenanzaError` for one that can't be, if no bound of the model is
    known, and if no framework ran it.
    """
    from benanza.looking.advise import known_advice

    advice = known_advice(
        load(arguments.folder("data", data)),
        [arguments.model_text("model", model)],
        arguments.precisions("precision", precision) if precision else (),
    )
    return _shown(advice)


@in_turn
def publish(
    models: ModelSource | Sequence[ModelSource],
    *,
    zoo: str | None = None,
    batch: int | Sequence[int] = (),
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    quantised: Quantised | Sequence[Quantised] = (),
    tensor_parallel: int | Sequence[int] = (),
    data: ModelSource | None = None,
) -> Published:
    """Publishes models to the services: to the Kafka that `BENANZA_KAFKA` names.

    Without it, into the embedded log of the folder `data` (by default that of `BENANZA_DATA`).
    A model may also be a folder or the listing of a zoo; the arguments are the options of
    `benanza publish`. Raises `BenanzaError` for one that can't be, before anything is done, and
    if any model can't be published; the others are.
    """
    from benanza.publishing.publish import PublishRequest
    from benanza.publishing.publish import publish as publish_models

    published = publish_models(
        arguments.model_texts("models", models),
        PublishRequest(
            arguments.optional_text("zoo", zoo),
            arguments.batch_sizes("batch", batch),
            arguments.bound(dims, values),
            derivations=arguments.derivations(quantised, tensor_parallel),
        ),
        load(arguments.folder("data", data)),
    )
    if published.errors:
        raise BenanzaError("; ".join(failed.reason for failed in published.errors))
    return _shown(published)


def _policy(
    precision: Precision | Sequence[Precision], fusion: bool, accounting: Accounting
) -> BoundPolicy:
    return BoundPolicy(
        precisions=arguments.precisions("precision", precision) if precision else (),
        fusion=arguments.switch("fusion", fusion),
        accounting=arguments.accounting_choice("accounting", accounting),
    )


def _shown(result: Given) -> Given:
    """The result, of which a notebook shows a table."""
    from benanza.render.notebook import show_tables

    show_tables()
    return result
