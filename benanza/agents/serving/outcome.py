"""What an event holds of an evaluation: its figures by name, and the whole as JSON."""

import json

import msgspec

from benanza.agents.core import EvaluationOutcome
from benanza.evaluating.results import Evaluation, Percentiles


def outcome_of(evaluation: Evaluation) -> EvaluationOutcome:
    """The figures have their units in their names; the report lacks single samples."""
    report = msgspec.structs.replace(
        evaluation,
        service=tuple(
            msgspec.structs.replace(times, samples_us=(), after_idle_us=())
            for times in evaluation.service
        ),
    )
    return EvaluationOutcome(
        figures=_figures(evaluation),
        report=json.dumps(report.to_dict()),
        failure=evaluation.failure,
    )


def _figures(evaluation: Evaluation) -> dict[str, float]:
    figures = {f"batch_{times.batch}_us": times.median_us for times in evaluation.service}
    for name, value in (
        ("limit_us", evaluation.limit_us),
        ("rate_per_s", evaluation.rate_per_s),
    ):
        if value is not None:
            figures[name] = value
    if (measured := evaluation.measured) is not None:
        figures |= {
            "valid": float(measured.validity.valid),
            "queries": float(measured.queries),
            "samples": float(measured.samples),
            "per_s": measured.per_s,
            **_percentiles("queueing_", measured.queueing),
            **_percentiles("computing_", measured.computing),
        }
        if measured.latency is not None:
            figures |= _percentiles("", measured.latency)
    if evaluation.simulated is not None:
        figures |= _percentiles("simulated_", evaluation.simulated)
    return figures | evaluation.metrics


def _percentiles(prefix: str, times: Percentiles) -> dict[str, float]:
    return {
        f"{prefix}{name}": value
        for name, value in msgspec.structs.asdict(times).items()
        if value is not None
    }
