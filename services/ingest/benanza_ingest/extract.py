"""From the bytes of an ONNX file to its layers: the whole of ingest as one pure function."""

from collections.abc import Mapping
from typing import NamedTuple

from benanza_ingest.bind import Binding, bind
from benanza_ingest.errors import ModelError
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.garbage import no_garbage_search
from benanza_ingest.groups.propose import propose_groups
from benanza_ingest.groups.wiring import Wiring, wire
from benanza_ingest.layers import Layers
from benanza_ingest.limits import Limits
from benanza_ingest.parse import opset_imports, parse
from benanza_ingest.resolve import resolve


@no_garbage_search()
def extract(
    content: bytes,
    *,
    batch: int | None = None,
    dims: Mapping[str, int] | None = None,
    limits: Limits | None = None,
) -> ExtractedModel:
    """The layers, edges and groups of a model at one batch size.

    `batch` None keeps the model's own, or takes 1 where it leaves that open; `dims` binds
    named dimensions. Weights are never read. What can't be told of a layer makes that layer
    skipped, with the reason. Raises `ModelError` where there is nothing to be had of the
    model as a whole.
    """
    opset, binding, wiring = wired(content, batch=batch, dims=dims or {}, limits=limits or Limits())
    return ExtractedModel(
        opset=opset,
        batch=binding.batch,
        dims=binding.dims,
        layers=wiring.layers,
        edges=wiring.edges,
        groups=propose_groups(wiring),
    )


class Wired(NamedTuple):
    """A model's layers with the graph that they come from."""

    opset: int
    binding: Binding
    wiring: Wiring


def wired(content: bytes, *, batch: int | None, dims: Mapping[str, int], limits: Limits) -> Wired:
    """The layers of a model, and who reads and writes what. Raises `ModelError`."""
    try:
        model = parse(content, limits)
        binding = bind(model, batch, dims)
        graph = resolve(model, binding, limits)
        opsets = opset_imports(model)
        maker = Layers(graph, opsets, limits)
        layers = tuple([maker.layer(node) for node in graph.nodes])
        return Wired(opsets.get("", 0), binding, wire(graph, layers))
    except RecursionError as error:
        raise ModelError("the model is nested too deeply; export it again, flattened") from error
