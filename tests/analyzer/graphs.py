"""Random models with all the groups that a rule could propose, for hypothesis."""

from collections.abc import Iterable, Iterator
from itertools import combinations

import networkx
from hypothesis import strategies as st

from benanza_schemas.events import ModelIngested
from tests.analyzer.events import KINDS, fingerprint, group, model, summary

# Times that floats add up without rounding, so that sums can be compared exactly.
times = st.integers(0, 80).map(lambda n: n / 8)


def may_be_a_group(members: Iterable[int], graph: networkx.DiGraph) -> bool:
    """Whether these layers are a group, by the words of the contract: convex."""
    inside = set(members)
    return not any(
        networkx.has_path(graph, left, back)
        for node in inside
        for left in set(graph.successors(node)) - inside
        for back in inside
    )


def contracted(graph: networkx.DiGraph, blocks: Iterable[tuple[int, ...]]) -> networkx.DiGraph:
    """The graph with each of these blocks as one node; all others are tuples of one position."""
    block_of: dict[int, tuple[int, ...]] = {position: (position,) for position in graph}
    block_of |= {position: block for block in blocks for position in block}
    found = networkx.DiGraph()
    found.add_nodes_from(block_of.values())
    found.add_edges_from(
        (block_of[s], block_of[t]) for s, t in graph.edges if block_of[s] != block_of[t]
    )
    return found


def graph_of(event: ModelIngested) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(event.layers)))
    graph.add_edges_from(event.edges)
    return graph


def all_groups(graph: networkx.DiGraph, runnable: Iterable[int]) -> Iterator[tuple[int, ...]]:
    nodes = sorted(runnable)
    for size in range(2, len(nodes) + 1):
        yield from (m for m in combinations(nodes, size) if may_be_a_group(m, graph))


def work(of: str) -> dict[str, int]:
    """Any work, but always the same for the same layer."""
    digits = fingerprint(of)
    flops = int(digits[:2], 16)
    return {"flops": flops, "bytes_moved": int(digits[2:4], 16), "least_flops": flops // 3}


@st.composite
def models(
    draw: st.DrawFn, *, name: str = "model", max_layers: int = 7, repeats: bool = False
) -> ModelIngested:
    """A model with random edges and groups.

    With `repeats`, layers and groups share a few fingerprints, also between models; without,
    each has one of its own.
    """
    count = draw(st.integers(1, max_layers))
    ops = [draw(st.sampled_from(sorted(KINDS))) for _ in range(count)]
    edges = [
        (source, target)
        for source in range(count)
        for target in range(source + 1, count)
        if draw(st.integers(0, 2)) == 0 or (target == source + 1 and draw(st.booleans()))
    ]
    titles = [
        f"{op} {draw(st.integers(0, 1))}" if repeats else f"{name} {op} {n}"
        for n, op in enumerate(ops)
    ]
    layers = [summary(op, title, **work(title)) for op, title in zip(ops, titles, strict=True)]
    graph = networkx.DiGraph(edges)
    graph.add_nodes_from(range(count))
    runnable = [n for n, op in enumerate(ops) if KINDS[op] != "skipped"]
    possible = list(all_groups(graph, runnable))
    chosen = draw(st.lists(st.sampled_from(possible), max_size=6)) if possible else []
    groups = []
    for index, members in enumerate(chosen):
        title = "+".join(titles[n] for n in members) if repeats else f"{name} group {index}"
        groups.append(group(title, draw(st.permutations(members)), **work(title)))
    return model(layers, edges, groups, name)


def all_fingerprints(event: ModelIngested) -> list[str]:
    """Of all layers and groups that can be measured, each once."""
    parts: list[str] = [summary.fingerprint for summary in event.summaries]
    parts += [group.fingerprint for group in event.groups]
    return sorted(set(parts) - {""})
