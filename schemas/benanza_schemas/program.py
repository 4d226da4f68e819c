"""A model as the calls that its bound adds up, in order, as a witness runs them.

A program is no event: it is made where it is needed, from the model's file and the measurements.
"""

import msgspec

from benanza_schemas.layer import Kind, Layer


class Choice(msgspec.Struct, frozen=True):
    """The variant that runs a layer; `library`, `algorithm` and `layout` are those of `Variant`.

    `us` is its interleaved time, or its warm time if that is all that was measured. `waits_us` is
    the additional time with cold weights, zero if that was not measured. Both are in microseconds.
    """

    library: str
    algorithm: str
    layout: str
    us: float = 0.0
    waits_us: float = 0.0


class ProgramStep(msgspec.Struct, frozen=True):
    """One call, for the layers of the model at these positions.

    `layer` is the layer with this `fingerprint`; `names` holds the name of the model's value for
    each of its tensors, in their order, empty for a tensor that only the layer has. A view has no
    `choice`: nothing runs.
    """

    positions: tuple[int, ...]
    kind: Kind
    fingerprint: str
    layer: Layer
    names: tuple[str, ...]
    choice: Choice | None = None


class Program(msgspec.Struct, frozen=True):
    """The steps, each after those whose results it reads, and the names of the model's outputs."""

    steps: tuple[ProgramStep, ...]
    outputs: tuple[str, ...]
