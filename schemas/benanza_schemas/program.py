"""A model as the calls that its bound adds up: what a witness runs.

It is no event. Whoever needs it makes it, from the model's file and from what was measured.
"""

import msgspec

from benanza_schemas.layer import Kind, Layer


class Choice(msgspec.Struct, frozen=True):
    """The variant that runs a layer: `library`, `algorithm` and `layout` are `Variant`'s.

    `us` is how long it takes between other calls, or alone where that is all that was measured;
    `waits_us` how much longer where its weights have to come from memory, zero where that wasn't
    measured. In microseconds.
    """

    library: str
    algorithm: str
    layout: str
    us: float = 0.0
    waits_us: float = 0.0


class Step(msgspec.Struct, frozen=True):
    """Layers of a model, by position, that one call does.

    `layer` is the graph that `fingerprint` stands for, its tensors in an order of their own:
    `names` says which value of the model each of them is. A view has no `choice`, as nothing
    runs.
    """

    positions: tuple[int, ...]
    kind: Kind
    fingerprint: str
    layer: Layer
    names: tuple[str, ...]
    choice: Choice | None = None


class Program(msgspec.Struct, frozen=True):
    """Steps in an order in which each follows what it reads, and the values that are wanted."""

    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
