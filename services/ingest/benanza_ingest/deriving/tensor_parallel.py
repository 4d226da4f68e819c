"""Tensor parallelism: a model split over the GPUs of one host, as one of them computes it.

Weights of products are split as M. Shoeybi et al. do ("Megatron-LM: Training Multi-Billion
Parameter Language Models Using Model Parallelism", 2019): by columns and then by rows, so that two
products need one sum over all GPUs, and attention goes by groups of heads. All ranks do as much, so
the bound of one is that of all. What can be split is found by how values flow, not by names.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from benanza_ingest.deriving.parallel.flow import Flow, find_flow
from benanza_ingest.deriving.parallel.one_rank import OneRank, Part
from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.graph import Graph

MOST_NOTES = 5


class TensorParallel(msgspec.Struct, frozen=True):
    """What a split made of a graph.

    `parts` says what of a value a rank has where ranks differ, by the name in the graph. `notes`
    say what was split and what stays whole, a line each.
    """

    parts: dict[str, Part]
    notes: tuple[str, ...]


def split_over_gpus(graph: Graph, opsets: Mapping[str, int], ranks: int) -> TensorParallel:
    """Changes a resolved graph to that of the first of so many ranks.

    `opsets` are the versions of domains. The graph then has operators of ONNX Runtime's. Raises
    `ModelError` if no product of the graph can be split.
    """
    flow = find_flow(graph, ranks, opsets.get("", 0))
    roles = Counter(step.role for step in flow.steps.values())
    if not roles["rows"] and not roles["gathered"]:
        whys = Counter(flow.whole.values()).most_common(1)
        why = f": {whys[0][0]}" if whys else ": it has no products with constant weights"
        raise ModelError(f"this model can't be split over {ranks} GPUs{why}")
    one = OneRank(graph, flow, ranks)
    one.run(opsets)
    return TensorParallel(one.parts, tuple(_notes(flow, roles, ranks)))


def _notes(flow: Flow, roles: Counter[str], ranks: int) -> Iterator[str]:
    gathered = f", and {roles['gathered']:,} with results put together" if roles["gathered"] else ""
    yield (
        f"split over {ranks} GPUs, of which this is one: {roles['columns']:,} products by columns, "
        f"{roles['rows']:,} by rows{gathered}"
    )
    split = {name for name, step in flow.steps.items() if step.role}
    whole = Counter(why for name, why in flow.whole.items() if name not in split)
    for why, count in whole.most_common(MOST_NOTES):
        products = "1 product stays" if count == 1 else f"{count:,} products stay"
        yield f"{products} whole on each GPU: {why}"
    if len(whole) > MOST_NOTES:
        yield f"so do others, for {len(whole) - MOST_NOTES:,} more reasons"
