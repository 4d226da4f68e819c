"""Functions that read or write files: models, traces, recordings, reports and tables."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benanza import arguments
from benanza.api.common import ModelSource, Values, shown
from benanza.results.import_recordings import Imported
from benanza.results.inspect import InspectedWeights, Inspection
from benanza.results.publish import Published
from benanza.settings import load
from benanza.tracing.results import TraceAnswer
from benanza.turns import in_turn
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.layer import Precision

if TYPE_CHECKING:
    from pandas import DataFrame


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
    `quantised` and `tensor_parallel` derive the model with such weights, split over so many GPUs.
    Raises `BenanzaError` for an invalid argument, and if the model can't be fetched, isn't valid,
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
    return shown(inspection)


@in_turn
def inspect_weights(model: ModelSource) -> InspectedWeights:
    """The weights in a model's file: of each its shape, its type, and what its values are like.

    The file is read once, and one weight is in memory at a time. Raises `BenanzaError` if the model
    can't be fetched, is none, or is larger than the limits.
    """
    from benanza.looking.weights.inspect_weights import inspect_weights as weights_in
    from benanza_ingest.limits import limits_of

    return shown(weights_in(arguments.model_text("model", model), limits_of(load(None))))


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
    `models` may also be folders or the listings of zoos; the arguments are the options of
    `benanza publish`. Raises `BenanzaError` for an invalid argument, before anything is done, and
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
    return shown(published)


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
    measured. `precision` is that of the run of such a report, which has shapes without types.
    Raises `BenanzaError` for an invalid argument, and if the file isn't a trace.
    """
    from benanza.tracing.answer import trace_answer

    answer = trace_answer(
        Path(file),
        load(arguments.folder("data", data)),
        publishes=arguments.switch("publish", publish),
        precision=arguments.optional_precision("precision", precision),
    )
    return shown(answer)


@in_turn
def import_recording(file: str | os.PathLike[str], *, data: ModelSource | None = None) -> Imported:
    """Imports measurements that were recorded on another system.

    Bounds of published models follow from them at once. The arguments are those of `benanza
    import`. Raises `BenanzaError` for an invalid argument, and for a file that can't be read or is
    damaged; then nothing is imported.
    """
    from benanza.importing.import_recordings import import_recordings
    from benanza.looking.bounds import brought_up_to_date

    settings = load(arguments.folder("data", data))
    imported = import_recordings([arguments.file("file", file)], settings)
    brought_up_to_date(settings)
    return shown(imported)


@in_turn
def write_report(
    model: ModelSource | Sequence[ModelSource],
    out: str | os.PathLike[str] = "report.html",
    *,
    price_per_hour: float | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> Path:
    """Writes what is known of one or more models into one HTML file, and returns its path.

    A `model` may also be a name or an id; nothing is benchmarked. The arguments are the options of
    `benanza report`, which has `--system` and `--diff` besides. Raises `BenanzaError` for an
    invalid argument, if no such bound is known, and if the file can't be written.
    """
    from benanza.report.report import report

    file = arguments.file("out", out)
    report(
        load(arguments.folder("data", data)),
        arguments.model_texts("model", model),
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
        arguments.ratio("price_per_hour", price_per_hour),
        file,
    )
    return file


@in_turn
def query(sql: str, *, data: ModelSource | None = None) -> "DataFrame":
    """What a SQL query of the store returns, as a data frame of pandas.

    The query only reads, as `benanza sql` does. It needs the extra `pandas` and, unless
    `BENANZA_CLICKHOUSE` names a server, `sql`. Raises `BenanzaError` for an invalid argument, if
    the statement writes or is wrong, where nothing is known yet, and without these extras.
    """
    from benanza.querying.statement import query_frame

    settings = load(arguments.folder("data", data))
    return query_frame(settings, arguments.unicode_text("sql", sql))
