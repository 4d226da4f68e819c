"""What is known of an operator beyond its definition in ONNX: the row of one in the table."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

OperatorKind = Literal[
    "attention",
    "classical",  # trees, support vectors and the like, of ai.onnx.ml
    "collective",  # of all GPUs that a model is split over
    "constant",  # known with the model
    "control flow",
    "element-wise",
    "embedding",  # rows of tables, and rotations by places
    "generated",  # from a size
    "linear algebra",
    "loss",
    "movement",  # moves bytes, and computes nothing
    "normalisation",
    "optional value",
    "pooling",
    "product",
    "quantisation",
    "random",  # draws numbers
    "ranking",
    "recurrent",
    "reduction",
    "sampling",  # of images, at computed places
    "selection",  # the data decide what
    "sequence",
    "text",
    "transform",
    "unknown",
    "view",  # the same elements under another shape or name
]

RegionRole = Literal["", "element-wise", "movement", "reduction", "view", "window"]
"""What an operator does in a region, a kernel that is generated for several operators."""

OtherInputs = Literal["", "broadcast", "channels", "fit", "instructions", "last axes"]
"""What the inputs after the first are to it: of shapes that are broadcast to one; one element for
each of its channels; of axes that fit, which shape inference checks; what to do with it, whatever
its sizes; or of its axes from `axis` on. Empty where none of these is so, or there are none.
"""

ViewIf = Literal["", "always", "of one", "unchanged"]
"""When nothing runs: for one input and one output; if the result is the first input."""

COSTLY: frozenset[OperatorKind] = frozenset(
    (
        *("attention", "normalisation", "pooling", "product", "ranking", "recurrent"),
        "transform",
    )
)


class OperatorFacts(NamedTuple):
    """A row of the table.

    `flops` are the operations for each element of the first result, None where they follow from
    more than that. `deciding` are the positions of inputs whose elements, if constant, decide what
    the operator does, and so belong to a layer's identity; weights are not among them. `region` is
    empty for what no region contains. `evaluated` says that it is computed before the model
    runs, if what it reads is known: so are operators on shapes and indices, but no convolution of
    weights. An `activation` may be computed by the call of the product before it.
    """

    kind: OperatorKind
    flops: int | None = 1
    deciding: tuple[int, ...] = ()
    others: OtherInputs = ""
    region: RegionRole = ""
    view: ViewIf = ""
    evaluated: bool = False
    activation: bool = False

    @property
    def costly(self) -> bool:
        """Whether its result is kept for all that read it. A copy of what works element by element,
        or only moves, may take less time where it is joined with each reader.
        """
        return self.kind in COSTLY

    @property
    def moves(self) -> bool:
        """Whether it only moves bytes, or not even that."""
        return self.kind in ("movement", "view")


Rows = Mapping[str, OperatorFacts]
"""Facts by the names of the operators that have them, with spaces between."""
