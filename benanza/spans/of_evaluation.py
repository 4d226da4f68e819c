"""An evaluation as one trace: its run under load, and below it the levels that were looked into."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from benanza.evaluating.evaluate import EvaluationRun
from benanza.evaluating.pipeline import Answered
from benanza.evaluating.results import Evaluation
from benanza.evaluating.under_test import AnsweredBatch
from benanza.profiling.framework import ObservedRun
from benanza.spans.looking import LookedAt
from benanza.spans.trace import Attribute, SpanTrace, TraceSpan, span_id, within
from benanza_schemas.events import FrameworkCall, FrameworkKernel

UNDER_LOAD = "under load"

MOST_SAMPLES = 100
"""The requests of so many of the first samples under load are spans."""


class SpanPlace(NamedTuple):
    """Where an evaluation's span is in its trace: its id, and that of the span that it is in, empty
    where it is the root.
    """

    span_id: str
    parent: str = ""


def evaluation_trace(
    run: EvaluationRun, trace_id: str, place: SpanPlace | None = None
) -> SpanTrace:
    """Looks into a few requests, and makes the trace, which stands on that of the model's bound;
    `place` is the root's by default.

    Each run is within the root: the one under load, in which nobody looked, and one for each level.
    Requests are within their runs, a batch is within the first of its requests, with its steps; the
    framework's calls are within the step `call`, and kernels within calls.
    """
    levels = list(run.look())
    clock = _Clock.now()
    place = place or SpanPlace(span_id(trace_id))
    runs = [
        *_under_load(run, place.span_id, clock),
        *(_looked(looked, place.span_id, clock) for looked in levels),
    ]
    root = _root(run.evaluation, place, runs, clock)
    spans = [span._replace(parent=span.parent or root.span_id) for each in runs for span in each]
    return SpanTrace(trace_id, (root, *spans), links=(run.evaluation.model_id,))


class _Clock(NamedTuple):
    """How far the clock of `time.time_ns` is ahead of that of `time.perf_counter_ns`."""

    ahead_ns: int

    @classmethod
    def now(cls) -> "_Clock":
        return cls(time.time_ns() - time.perf_counter_ns())

    def at(self, counter_ns: int) -> int:
        return counter_ns + self.ahead_ns


def _root(
    evaluation: Evaluation, place: SpanPlace, runs: Sequence[Sequence[TraceSpan]], clock: _Clock
) -> TraceSpan:
    request = evaluation.request
    began_ns = round(evaluation.evaluated_at.timestamp() * 1e6) * 1_000
    now_ns = clock.at(time.perf_counter_ns())
    ends = [run[0].end_ns for run in runs]
    attributes: dict[str, Attribute] = {
        "benanza.model": evaluation.name,
        "benanza.model_id": evaluation.model_id,
        "benanza.scenario": request.scenario,
        "benanza.precision": request.precision,
        "benanza.framework": request.framework,
        "benanza.configuration": evaluation.configuration,
        "benanza.system_id": evaluation.system.system_id,
    }
    first_ns = min([began_ns, *(run[0].start_ns for run in runs)])
    return TraceSpan(
        place.span_id,
        place.parent,
        f"evaluate {evaluation.name}",
        first_ns,
        max([now_ns, first_ns, *ends]),
        "evaluation",
        attributes,
        evaluation.failure,
    )


def _under_load(run: EvaluationRun, root: str, clock: _Clock) -> Iterator[list[TraceSpan]]:
    measured = run.evaluation.measured
    if measured is None:  # no rate was found whose batches these would be
        return
    shown: list[AnsweredBatch] = []
    for batch in run.batches:
        if sum(len(each.queries) for each in shown) >= MOST_SAMPLES:
            break
        shown.append(batch)
    first_ns = min(query.came_ns for batch in run.batches for query in batch.queries)
    whole = TraceSpan(
        span_id(root, UNDER_LOAD),
        "",
        UNDER_LOAD,
        clock.at(first_ns),
        clock.at(run.batches[-1].answered.finished_ns),
        UNDER_LOAD,
        {
            "benanza.samples": measured.samples,
            "benanza.samples_shown": sum(len(batch.queries) for batch in shown),
        },
    )
    yield [
        whole,
        *(
            span
            for number, batch in enumerate(shown)
            for span in _batch(batch, number, whole, clock)
        ),
    ]


def _batch(batch: AnsweredBatch, number: int, run: TraceSpan, clock: _Clock) -> Iterator[TraceSpan]:
    """The requests, of which the first to come has the batch, and the others name its span."""
    in_order = sorted(batch.queries, key=lambda query: query.came_ns)
    steps = list(_steps(batch.answered, span_id(run.span_id, str(number)), run.track, clock))
    for place, query in enumerate(in_order):
        request = TraceSpan(
            span_id(run.span_id, str(number), str(place)),
            run.span_id,
            "request",
            clock.at(query.came_ns),
            clock.at(batch.answered.finished_ns),
            run.track,
            {"benanza.sample": query.sample, "benanza.batch_span": steps[0].span_id},
        )
        yield request
        yield TraceSpan(
            span_id(request.span_id, "queueing"),
            request.span_id,
            "queueing",
            request.start_ns,
            clock.at(batch.answered.started_ns),
            run.track,
        )
        if place == 0:
            yield steps[0]._replace(parent=request.span_id)
            yield from steps[1:]


def _steps(answered: Answered, identity: str, track: str, clock: _Clock) -> Iterator[TraceSpan]:
    """A batch and its three steps; the batch has no parent yet."""
    yield TraceSpan(
        identity,
        "",
        "batch",
        clock.at(answered.started_ns),
        clock.at(answered.finished_ns),
        track,
        {"benanza.batch": answered.ran_as},
    )
    for name, start, end in (
        ("pre-processing", answered.started_ns, answered.prepared_ns),
        ("call", answered.prepared_ns, answered.ran_ns),
        ("post-processing", answered.ran_ns, answered.finished_ns),
    ):
        yield TraceSpan(
            span_id(identity, name), identity, name, clock.at(start), clock.at(end), track
        )


def _looked(looked: LookedAt, root: str, clock: _Clock) -> list[TraceSpan]:
    """The run of a level, with its requests and what was seen in them."""
    track = f"looked at {looked.level}"
    identity = span_id(root, looked.level)
    if looked.failure:
        now_ns = clock.at(time.perf_counter_ns())
        return [TraceSpan(identity, "", track, now_ns, now_ns, track, {}, looked.failure)]
    whole = TraceSpan(
        identity,
        "",
        track,
        clock.at(looked.answered[0].started_ns),
        clock.at(looked.answered[-1].finished_ns),
        track,
        {
            "benanza.call_unobserved_us": looked.unobserved_us,
            "benanza.looking_us": tuple(looked.looking_us),
        },
    )
    spans = [whole]
    pairs = zip(looked.answered, looked.runs, strict=True)
    for number, (answered, run) in enumerate(pairs):
        batch, *steps = _steps(answered, span_id(identity, str(number)), track, clock)
        spans += [batch._replace(parent=identity), *steps]
        call = next(step for step in steps if step.name == "call")
        spans += _calls(run, call)
    return spans


def _calls(run: ObservedRun, step: TraceSpan) -> Iterator[TraceSpan]:
    """What ran within a call of the framework. Its own clock says when the execution began."""
    began_ns = round(run.start_us * 1_000)
    for number, call in enumerate(run.calls):
        span = within(_call(call, number, began_ns, step), step)
        yield span
        for place, kernel in enumerate(call.kernels):
            yield within(_kernel(kernel, place, began_ns, span), span)


def _call(call: FrameworkCall, number: int, began_ns: int, step: TraceSpan) -> TraceSpan:
    """From its start until it ends, or on a GPU the last of its kernels."""
    ends = _ends_us(call.kernels)
    return TraceSpan(
        span_id(step.span_id, str(number), call.name),
        step.span_id,
        call.op,
        began_ns + round(call.start_us * 1_000),
        began_ns + round(max([call.start_us + call.median_us, *ends]) * 1_000),
        step.track,
        {"benanza.call": call.name, "benanza.layers": call.layers},
    )


def _ends_us(kernels: Iterable[FrameworkKernel]) -> Iterator[float]:
    return (kernel.start_us + kernel.median_us for kernel in kernels)


def _kernel(kernel: FrameworkKernel, place: int, began_ns: int, call: TraceSpan) -> TraceSpan:
    return TraceSpan(
        span_id(call.span_id, str(place), kernel.name),
        call.span_id,
        kernel.name,
        began_ns + round(kernel.start_us * 1_000),
        began_ns + round((kernel.start_us + kernel.median_us) * 1_000),
        call.track,
    )
