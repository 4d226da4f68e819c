"""The call of a mixture of experts."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class ExpertMatrices(msgspec.Struct, frozen=True):
    """A matrix of n rows of k weights for each expert, of which a product with x is x · wᵀ + bias.

    Weights are floats, or of so many `bits` as `PackedProduct` has them: in blocks of `block` along
    a row, with a scale for each block and, if `zeros`, zero points; else these are 2^(bits-1).
    """

    n: int
    k: int
    bits: int = 0
    block: int = 0
    zeros: bool = False
    bias: bool = False

    @property
    def blocks(self) -> int:
        """How many blocks a row of packed weights has."""
        return -(-self.k // self.block)


class MixtureOfExperts(msgspec.Struct, frozen=True):
    """For each row x the sum of `down(activated(up(x)))` of its experts, weighted by their shares.

    A row's experts are those `top_k` of `experts` with the largest logits, the first of equal ones.
    Their shares are a softmax of the row's logits: over all experts, or over the chosen ones if
    `normalised`.

    If `gated`, rows of `up` come in pairs of a gate g and a linear l, and activated is
    `activation(min(g, limit)) · (min(max(l, -limit), limit) + beta)`; else it is the activation.
    The activation is one that products have, with its `numbers`.

    Operands: `input` is rows × up.k, `router` has rows × experts logits. For `up` and for `down`
    there are the weights of all experts one after another, under this name, and under
    `up_scales`, `up_zeros` and `up_bias` (`down_…`) what else they have. `output` is the shape that
    the layer gives the result, rows × down.n.
    """

    output: Shape
    rows: int
    experts: int
    top_k: int
    up: ExpertMatrices
    down: ExpertMatrices
    activation: str
    numbers: tuple[float, ...] = ()
    gated: bool = False
    beta: float = 0.0
    limit: float = 0.0
    normalised: bool = False

    @property
    def routes(self) -> int:
        """How many pairs of a row and one of its experts there are."""
        return self.rows * self.top_k
