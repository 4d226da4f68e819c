"""Extracts the layers of an ONNX file from its bytes: all of ingest as one pure function."""

from collections.abc import Mapping
from typing import NamedTuple

from onnx import ModelProto

from benanza_ingest.deriving.derive import Derived, derived
from benanza_ingest.errors import ModelError
from benanza_ingest.extracted import ExtractedGroup, ExtractedModel
from benanza_ingest.garbage import no_garbage_search
from benanza_ingest.groups.propose import propose_groups
from benanza_ingest.groups.quantised.own_dequantizers import with_own_dequantizers
from benanza_ingest.groups.wiring import Wiring, wire
from benanza_ingest.layering.layers import Layers
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import opset_imports, parse
from benanza_ingest.resolving.bind import Binding, bind, bind_implied
from benanza_ingest.resolving.graph import Graph
from benanza_ingest.resolving.open_sizes.implied_sizes import implied_sizes
from benanza_ingest.resolving.resolve import resolve
from benanza_ingest.splitting import split
from benanza_ingest.states.as_written import copying_groups, with_reasons
from benanza_ingest.states.in_place import KeptState, keep_states_in_place
from benanza_ingest.summary import notes, notes_on_states, parameters
from benanza_ingest.written_out.write_out import write_out
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation


@no_garbage_search()
def extract(
    content: bytes,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
    granularity: int | None = None,
    derivation: Derivation = AS_WRITTEN,
) -> ExtractedModel:
    """The layers, edges and groups of a model at one batch size.

    If `batch` is None, the model's own batch size counts, or 1 where the model leaves it open.
    `dims` binds named dimensions. With a `granularity` also the sequences of at most so many
    layers. `derivation` is made of the model first. Weights are never read. A layer whose shapes,
    types or definition are not known is skipped, with the reason. Raises `ModelError` if the model
    as a whole can't be ingested, or derived.
    """
    model = wired(
        content,
        batch=batch,
        dims=dims or {},
        limits=limits or Limits(),
        derivation=derivation,
    )
    return _extracted(model, granularity)


class Summarised(NamedTuple):
    """A model with what is said of it as a whole: the elements of all weights, each counted once,
    and what was assumed, for people.
    """

    model: ExtractedModel
    parameters: int
    notes: tuple[str, ...]


@no_garbage_search()
def extract_with_summary(
    content: bytes,
    *,
    batch: int | None,
    dims: Mapping[str, int],
    limits: Limits,
    derivation: Derivation = AS_WRITTEN,
) -> Summarised:
    """As `extract`, for people who look at a model."""
    model = wired(content, batch=batch, dims=dims, limits=limits, derivation=derivation)
    of_states = notes_on_states(model.wiring.layers, model.copying)
    model_notes = (*notes(model.graph, model.binding), *model.derived.notes, *of_states)
    return Summarised(
        _extracted(model, None), parameters(model.graph, model.wiring.layers), model_notes
    )


def _extracted(model: "Wired", granularity: int | None) -> ExtractedModel:
    return ExtractedModel(
        opset=model.opset,
        batch=model.binding.batch,
        dims=model.binding.dims,
        layers=model.wiring.layers,
        edges=model.wiring.edges,
        groups=(*propose_groups(model.wiring), *model.copying),
        sequences=split(model.wiring, granularity) if granularity is not None else (),
    )


class Wired(NamedTuple):
    """A model's layers with their graph and what was bound.

    `proto` is the file without its weights. `derived` is what the graph was made into, with what
    is said of that. `copying` is what would copy `states`.
    """

    proto: ModelProto
    opset: int
    binding: Binding
    graph: Graph
    derived: Derived
    wiring: Wiring
    states: tuple[KeptState, ...]
    copying: tuple[ExtractedGroup, ...]


def wired(
    content: bytes,
    *,
    batch: int | None,
    dims: Mapping[str, int],
    limits: Limits,
    derivation: Derivation = AS_WRITTEN,
) -> Wired:
    """The layers of a model, with their wiring. Raises `ModelError` as `extract` does."""
    try:
        model = parse(content, limits)
        binding, resolved = _resolved(model, bind(model, batch, dims), limits)
        made = derived(resolved, derivation, opset_imports(model))
        graph, opsets = made.graph, made.opsets
        write_out(graph)
        states = keep_states_in_place(graph)
        maker = Layers(graph, opsets, limits)
        layers = with_reasons(map(maker.layer, graph.nodes), graph, states)
        wiring = with_own_dequantizers(wire(graph, layers))
        copying = copying_groups(wiring.graph, states, maker)
        return Wired(model, opsets.get("", 0), binding, graph, made, wiring, states, copying)
    except RecursionError as error:
        raise ModelError("the model is nested too deeply; export it again, flattened") from error


def _resolved(model: ModelProto, binding: Binding, limits: Limits) -> tuple[Binding, Graph]:
    """The graph, and what was bound, with the open sizes that follow from the graph: but not where
    the model's own batch size is replaced, of which the graph is resolved as well.
    """
    while True:
        names = binding.open_names() if binding.own is None else []
        as_bound = ModelProto()
        if names:
            as_bound.CopyFrom(model)  # Resolving takes away what the model declares.
        graph = resolve(model, binding, limits)
        sizes = implied_sizes(as_bound.graph.output, graph, names)
        if not sizes:
            return binding, graph
        model.CopyFrom(as_bound)
        binding = bind_implied(model, binding, sizes)
