"""Functions that run something: layers, whole models, or models under load."""

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from benanza import arguments
from benanza.api.common import ModelSource, Values, shown
from benanza.evaluating.request import MOST_AT_ONCE, EvaluationRequest, Scenario, Seeds
from benanza.evaluating.results import EvaluatedModel
from benanza.gating.results import Gate
from benanza.request import BoundPolicy, RunRequest
from benanza.results.bounds import LowerBounds
from benanza.results.profile import Profiles
from benanza.settings import load
from benanza.turns import in_turn
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.layer import Accounting, Precision


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

    Benchmarks what was never measured here before; that takes a while, and is kept in the folder
    `data` (by default that of `BENANZA_DATA`). The arguments are the options of `benanza run`.
    Several sizes in `dims` are a sweep, as in `{"past": [1024, 4096]}`, and a text says what
    follows from others, as in `{"total": "past+1"}`. `quantised` and `tensor_parallel` add the
    bounds of the models with such weights, and split over so many GPUs. Raises `BenanzaError` for
    an invalid argument, before anything is done, and if any model can't be fetched or ingested;
    what was measured by then is kept.
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
    return shown(lower_bounds)


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
    for an invalid argument, if there is no such framework, and if any model can't be read.
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
    return shown(profiles)


@in_turn
def evaluate(
    model: ModelSource,
    *,
    framework: str = "onnxruntime",
    configuration: str = "",
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
    """Runs a model in a framework under a scenario of MLPerf's LoadGen, beside its bound.

    The arguments are the options of `benanza evaluate`. What LoadGen says of the run is in
    `evaluation.measured.validity`. Raises `BenanzaError` for an invalid argument, as
    `profile` does, without the extra `evaluate`, and where nothing could be measured.
    """
    from benanza.evaluating.command import evaluate as run_evaluation

    request = EvaluationRequest(
        model=arguments.model_text("model", model),
        framework=framework,
        configuration=configuration,
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
    return shown(found)


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
    slower than before: than in a file with the document of an earlier gate, or in such a file of a
    Git revision (`"main:gate.json"`), or than the last run that was stored by a time.

    The arguments are the options of `benanza gate`; what was found is kept in `data`. What comes of
    it is in `verdict`, and in `runs` for each model. Raises `BenanzaError` for an invalid argument,
    as `profile` does, for an earlier gate that can't be read, and without any limit.
    """
    from benanza.gating.baseline import document
    from benanza.gating.gate import GateLimits
    from benanza.gating.gate import gate as check_runs

    if max_ratio is None and no_slower_than is None:
        raise BenanzaError("give max_ratio, no_slower_than, or both")
    before = arguments.file_or_time("no_slower_than", no_slower_than)
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
            document(str(before)) if isinstance(before, Path) else before,
        ),
        load(arguments.folder("data", data)),
        stored=arguments.switch("stored", stored),
    )
    if checked.errors:
        raise BenanzaError("; ".join(failed.reason for failed in checked.errors))
    return shown(checked)
