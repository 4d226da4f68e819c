"""The terms of a report, so that a reader needs no other page. The glossary in docs has more."""

TERMS = {
    "Bound": "the least time that a model can take with the kernels that were measured: the sum of "
    "the best times of its calls. It is no forecast.",
    "Sequential bound": "one call after the other; what a library runs as one call is one call.",
    "Parallel bound": "the longest path through the graph, as if independent layers ran at the "
    "same time and each kept its speed.",
    "Attainable estimate": "what the calls of the bound should take within the model, between "
    "other kernels and with weights that the cache doesn't hold.",
    "Speed of light": "what no kernels could be faster than by the measured rates of the machine, "
    "whatever they fuse.",
    "Held by": "which measured rate the speed of light follows from: that of the memory, of the "
    "last cache, of operations, or of calls one after the other (latency).",
    "Layer": "one operator, or a small graph of several, with its shapes, types and attributes.",
    "Group": "several layers that a library or one generated kernel can run as one call.",
    "Layout conversion": "a copy of a feature map from one layout to another, where the reader "
    "needs another layout than the writer's.",
    "Spread": "the variation of the samples of a time, shown behind ±: their interquartile range.",
    "Coverage": "how many layers are in the figure. A bound that lacks some is partial: the true "
    "one is larger.",
    "System": "everything that a time depends on apart from the layer: accelerator or CPU, driver, "
    "libraries with their versions, threads, and the method.",
}
"""By term what it means. Each is a term of the glossary."""


def anchor(term: str) -> str:
    """The anchor of a term on the page."""
    return f"term-{term.lower().replace(' ', '-')}"
