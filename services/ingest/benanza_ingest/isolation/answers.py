"""A model taken apart, as a process answers it, and as its parent takes it.

The model may have taken the process over. So the parent believes nothing that another model's
answer would contradict: it finds the fingerprint and the costs of each layer from the layer itself,
and refuses what isn't a model at all, or not the one that was asked for.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from benanza_backbone.worker import frames
from benanza_backbone.worker.frames import FrameError
from benanza_backbone.worker.process import decoded
from benanza_ingest.core import batch_sizes
from benanza_ingest.errors import ModelError
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer, ExtractedModel, LayerSequence
from benanza_ingest.isolation.messages import (
    MOST_ANSWERS_BYTES,
    PackedGroup,
    PackedLayer,
    Refused,
    TakenApart,
    answers,
)
from benanza_ingest.layering import costs
from benanza_ingest.layering.views import NO_ELEMENTS, why_nothing_runs
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import MAX_AXES
from benanza_schemas.events import MAX_NAME_LENGTH, MAX_REASON_LENGTH, LayerUse, ModelPublished
from benanza_schemas.identity import check, fingerprint_of_canonical
from benanza_schemas.layer import Kind, Layer
from benanza_schemas.vocabulary import COPIED_STATE

T = TypeVar("T")

_MOST = 2**63 - 1
"""The largest figure of a layer: what the store's columns hold."""


def packed(model: ExtractedModel) -> TakenApart:
    """The model as a message."""
    graphs = _Graphs()
    summaries: dict[tuple[int | None, str, str, Kind, str], int] = {}
    uses = []
    for layer in model.layers:
        key = (
            None if layer.layer is None else graphs.place(layer.layer, layer.fingerprint),
            layer.op[:MAX_NAME_LENGTH],
            layer.domain[:MAX_NAME_LENGTH],
            layer.kind,
            layer.reason[:MAX_REASON_LENGTH],
        )
        place = summaries.setdefault(key, len(summaries))
        uses.append(LayerUse(place, layer.name[:MAX_NAME_LENGTH]))
    groups = [
        PackedGroup(graphs.place(g.layer, g.fingerprint), g.rule, g.layers) for g in model.groups
    ]
    sequences = [
        PackedGroup(graphs.place(s.layer, s.fingerprint), "", s.positions) for s in model.sequences
    ]
    return TakenApart(
        opset=model.opset,
        batch=model.batch,
        dims=model.dims,
        graphs=tuple(graphs.all),
        summaries=tuple([PackedLayer(*key) for key in summaries]),
        layers=tuple(uses),
        edges=model.edges,
        groups=tuple(groups),
        sequences=tuple(sequences),
    )


def taken_apart(child: int, published: ModelPublished, deadline: float) -> list[TakenApart]:
    """What a child answers over this file descriptor that was asked to take a model apart, for each
    batch size.

    Raises `ModelError` if the child refuses it, and as `frames.receive` and `decoded` do.
    """
    answered = []
    left = MOST_ANSWERS_BYTES
    for _ in batch_sizes(published):
        message = frames.receive(child, left, deadline)
        left -= len(message)
        answered.append(unless_refused(decoded(message, answers)))
    return answered


def models(
    answered: Iterable[TakenApart], published: ModelPublished, limits: Limits
) -> Iterator[ExtractedModel]:
    """The model at each batch size. Raises `FrameError` as `unpacked` does."""
    for answer, batch in zip(answered, batch_sizes(published), strict=True):
        yield unpacked(answer, published, batch, limits)


def unless_refused(answer: T | Refused) -> T:
    """The answer. Raises `ModelError` with the reason if the model was refused."""
    if isinstance(answer, Refused):
        raise ModelError(answer.reason)
    return answer


def unpacked(
    answer: TakenApart, published: ModelPublished, batch: int | None, limits: Limits
) -> ExtractedModel:
    """The model in a message. Raises `FrameError` unless it may be what was published, at the batch
    size that was asked for; None is the model's own.
    """
    try:
        _check_asked(answer, published, batch)
        return _model(answer, published.granularity or 0, limits)
    except (ArithmeticError, LookupError, TypeError, ValueError, ModelError) as error:
        raise FrameError(str(error)) from None


class _Graphs:
    """The distinct layers, groups and sequences of a model, in order."""

    def __init__(self) -> None:
        self.all: list[Layer] = []
        self._places: dict[str, int] = {}

    def place(self, layer: Layer, fingerprint: str) -> int:
        index = self._places.setdefault(fingerprint, len(self.all))
        if index == len(self.all):
            self.all.append(layer)
        return index


class _Known(NamedTuple):
    """A graph, and what follows from it: `figures` are FLOPs, bytes and parameters."""

    layer: Layer
    fingerprint: str
    figures: tuple[int, int, int]


def _check_asked(answer: TakenApart, published: ModelPublished, batch: int | None) -> None:
    if batch not in (None, answer.batch):
        raise ValueError(f"batch size {answer.batch} instead of {batch}")
    if not answer.dims.items() <= published.dims.items():
        raise ValueError("dimensions that nobody asked for")


def _model(answer: TakenApart, granularity: int, limits: Limits) -> ExtractedModel:
    count = len(answer.layers)
    if count > limits.nodes:
        raise ValueError(f"{count:,} layers, more than {limits.nodes:,}")
    if any(before >= after for before, after in pairwise(answer.edges)) or any(
        not source < target < count for source, target in answer.edges
    ):
        raise ValueError("edges that aren't in order")
    known = [_known(graph) for graph in answer.graphs]
    unnamed = [_unnamed(summary, known) for summary in answer.summaries]
    return ExtractedModel(
        opset=answer.opset,
        batch=answer.batch,
        dims=answer.dims,
        layers=tuple([replace(unnamed[use.summary], name=use.name) for use in answer.layers]),
        edges=answer.edges,
        groups=tuple(_groups(answer.groups, known, count)),
        sequences=tuple(_sequences(answer.sequences, known, count, granularity)),
    )


def _known(graph: Layer) -> _Known:
    if max([len(tensor.shape) for tensor in graph.tensors], default=0) > MAX_AXES:
        raise ValueError(f"a tensor of over {MAX_AXES} axes")
    check(graph)
    fingerprint = fingerprint_of_canonical(graph)
    if graph.execution == "network":  # Nobody asks what it costs.
        return _Known(graph, fingerprint, (0, 0, 0))
    figures = costs.flops(graph), costs.moved_bytes(graph), costs.parameters(graph)
    if min(figures) < 0 or max(figures) > _MOST:
        raise ValueError("a layer of no size")
    return _Known(graph, fingerprint, figures)


def _unnamed(summary: PackedLayer, known: Sequence[_Known]) -> ExtractedLayer:
    op, domain, kind = summary.op, summary.domain, summary.kind
    if (summary.graph is None) != (kind == "skipped"):
        raise ValueError("a layer without a graph that isn't skipped")
    if summary.graph is None:
        return ExtractedLayer(op, domain, kind, reason=summary.reason, name="")
    layer, fingerprint, figures = known[summary.graph]
    if [(operator.op_type, operator.domain) for operator in layer.operators] != [(op, domain)]:
        raise ValueError("a layer of another operator")
    reason = summary.reason
    if kind == "view" or not reason.startswith(COPIED_STATE):
        reason = why_nothing_runs(layer)
    if layer.execution != "call" or summary.reason != reason:
        raise ValueError("a layer that can't be one")
    if reason == NO_ELEMENTS and kind != "view":
        raise ValueError("a layer that can't be one")
    figures = (0, 0, 0) if kind == "view" else figures
    return ExtractedLayer(op, domain, kind, fingerprint, *figures, reason, name="", layer=layer)


def _groups(
    groups: Iterable[PackedGroup], known: Sequence[_Known], count: int
) -> Iterable[ExtractedGroup]:
    for group in groups:
        layer, fingerprint, (flops, moved, _) = known[group.graph]
        if layer.execution != "call" or not group.rule:
            raise ValueError("a group that is none")
        _check_positions(group.layers, count)
        yield ExtractedGroup(fingerprint, group.rule, group.layers, flops, moved, layer=layer)


def _sequences(
    sequences: Iterable[PackedGroup], known: Sequence[_Known], count: int, granularity: int
) -> Iterable[LayerSequence]:
    for sequence in sequences:
        layer, fingerprint, *_ = known[sequence.graph]
        if layer.execution != "network" or len(sequence.layers) > granularity:
            raise ValueError("a sequence that nobody asked for")
        _check_positions(sequence.layers, count)
        yield LayerSequence(sequence.layers, layer, fingerprint)


def _check_positions(positions: Sequence[int], count: int) -> None:
    if not positions or positions[-1] >= count:
        raise ValueError("layers that aren't there")
    if any(before >= after for before, after in pairwise(positions)):
        raise ValueError("layers that aren't in order")
