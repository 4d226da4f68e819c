"""What became of the layers of a run's models, and so what reuse saved."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benanza.results.bounds import LayerCounts
from benanza_backbone.event_log.event_log import EventLog, Partition
from benanza_backbone.event_log.standing import standing_measurements
from benanza_runner.isolation.isolated_runtime import ATTEMPTS
from benanza_schemas.events import ModelIngested
from benanza_schemas.layer import Precision
from benanza_schemas.times import is_timed


def benchmarked_layers(model: ModelIngested) -> list[str]:
    """The fingerprints of what is benchmarked of a model, as often as the model has it:
    layers that compute or move data, and groups."""
    summaries = [model.summaries[use.summary] for use in model.layers]
    layers = [s.fingerprint for s in summaries if s.kind in ("compute", "movement")]
    return layers + [group.fingerprint for group in model.groups]


def count_layers(
    log: EventLog,
    models: Iterable[ModelIngested],
    system_id: str,
    precisions: Sequence[Precision],
    run_began: Mapping[Partition, int],
    *,
    again: bool = False,
) -> LayerCounts:
    """The layers of these models by what is known of them on this system.

    `run_began` are the end offsets of the results from when the run began. If it measured layers
    `again`, those that it measured are benchmarked and not known.
    """
    models = list(models)
    by_model = [benchmarked_layers(model) for model in models]
    layers = [fingerprint for of_model in by_model for fingerprint in of_model]
    unique = [set(of_model) for of_model in by_model]
    used = Counter(fingerprint for of_model in unique for fingerprint in of_model)
    groups = {group.fingerprint for model in models for group in model.groups}
    groups -= {summary.fingerprint for model in models for summary in model.summaries}
    keys = {fingerprint.encode() for fingerprint in used}
    known: set[tuple[str, Precision]] = set()
    now: set[tuple[str, Precision]] = set()
    split: set[tuple[str, Precision]] = set()
    failed: set[tuple[str, Precision]] = set()
    for record, event in standing_measurements(log, keys):
        if event.system.system_id != system_id:
            continue
        if event.precision in precisions:
            old = record.offset < run_began[record.partition]
            if is_timed(event):
                what = known if old else now
            else:
                # Of a group whose benchmark lost its process nobody knows what it would be.
                whole = event.environment.get(ATTEMPTS, "1") == "1"
                what = split if whole and event.fingerprint in groups else failed
            what.add((event.fingerprint, event.precision))
    if again:
        known -= now
    return LayerCounts(
        models=len(models),
        total=len(layers) * len(precisions),
        unique=len(keys) * len(precisions),
        unique_of_model=max(map(len, unique), default=0) * len(precisions),
        of_one_model=sum(times == 1 for times in used.values()) * len(precisions),
        known=len(known),
        benchmarked=len(now - known),
        split=len(split - failed - known - now),
        failed=len(failed - known - now),
    )
