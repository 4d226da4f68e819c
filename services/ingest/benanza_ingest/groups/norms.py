"""A sum and its normalisation, as after each half of BERT's layers.

One kernel reads the summands and writes the normalised sum. If other layers read the sum as well,
as in models that normalise first, there is no group: the kernel would have a second result.
"""

from benanza_ingest.groups.wiring import Wiring

RULE = "norm"

NORMS = frozenset(("LayerNormalization", "RMSNormalization"))


def propose(wiring: Wiring) -> list[tuple[int, ...]]:
    """Positions of each sum and its normalisation."""
    groups: list[tuple[int, ...]] = []
    for position, layer in enumerate(wiring.layers):
        if layer.op != "Add" or layer.domain or layer.kind != "compute":
            continue
        follower = wiring.only_reader(position)
        if follower is None:
            continue
        norm, node = wiring.layers[follower], wiring.node(follower)
        if norm.op not in NORMS or norm.domain or norm.kind != "compute":
            continue
        first, second = (wiring.graph.types.get(name) for name in wiring.node(position).inputs)
        same = first is not None and second is not None and first.shape == second.shape
        one_result = not any(node.outputs[1:])
        if same and one_result and node.inputs[0] in wiring.node(position).outputs:
            groups.append((position, follower))
    return groups
