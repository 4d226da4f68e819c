"""What ONNX Runtime fuses in diffusion models: norms of groups, and sums with a Gelu or a softmax.

Source: the definitions of GroupNorm, SkipGroupNorm, BiasAdd, BiasSplitGelu and BiasSoftmax in ONNX
Runtime, which runs them on GPUs alone.
"""

from benanza_runner.cuda.lowering.written_out.writing import Writing, given
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED, Operator


def group_norm(writing: Writing, operator: Operator) -> None:
    """`GroupNorm`, and `SkipGroupNorm`, which adds what was skipped and a bias before: results are
    the norm, with a Swish behind it if `activation` says so, and the sum.
    """
    x, scale, shift = operator.inputs[:3]
    shape, result = writing.shape(x), operator.outputs[0]
    last = bool(operator.integer("channels_last", 1))
    if given(operator, 3):
        total = (*operator.outputs, OMITTED)[1]
        biased = given(operator, 4)
        skipped = _by_channel(writing, operator.inputs[3], len(shape), last)
        x = writing.add("Add", 14, (x, skipped), None if biased else total)
        if biased:
            bias = _by_channel(writing, operator.inputs[4], len(shape), last)
            x = writing.add("Add", 14, (x, bias), total)
    groups, epsilon = operator.integer("groups"), operator.number("epsilon", 1e-5)
    turned = _first(writing, x) if last else x
    activated = bool(operator.integer("activation", 0))
    place = None if last or activated else result
    read = turned, scale, shift
    normed = writing.add("GroupNormalization", 21, read, place, num_groups=groups, epsilon=epsilon)
    if activated:
        normed = writing.add("Swish", 24, (normed,), None if last else result, alpha=1.0)
    if last:
        back = (0, *range(2, len(shape)), 1)
        writing.add("Transpose", 13, (normed,), result, perm=back)


def _first(writing: Writing, x: int) -> int:
    """A feature map with its channels first."""
    batch, *space, channels = writing.shape(x)
    order = (0, len(space) + 1, *range(1, len(space) + 1))
    return writing.add("Transpose", 13, (x,), shape=(batch, channels, *space), perm=order)


def _by_channel(writing: Writing, added: int, rank: int, last: bool) -> int:
    """What is added, as a feature map: it may have channels alone, or an item's channels."""
    shape = writing.shape(added)
    if len(shape) == rank:
        return added
    ones = (1,) * (rank - 2)
    batch, channels = shape if len(shape) == 2 else (1, *shape)
    wanted = (batch, *ones, channels) if last else (batch, channels, *ones)
    return writing.reshape(added, wanted)


def bias_add(writing: Writing, operator: Operator) -> None:
    """`BiasAdd`: a bias, and what was skipped."""
    x, bias, skipped = operator.inputs
    writing.add("Add", 14, (writing.add("Add", 14, (x, bias)), skipped), operator.outputs[0])


def bias_split_gelu(writing: Writing, operator: Operator) -> None:
    """`BiasSplitGelu`: one half of the columns with the bias, times the Gelu of the other."""
    both = writing.add("Add", 14, operator.inputs)
    half = writing.shape(operator.outputs[0])[-1]
    left, right = writing.split(both, (half, half))
    gate = writing.add("Gelu", 20, (right,), approximate="none")
    writing.add("Mul", 14, (left, gate), operator.outputs[0])


def bias_softmax(writing: Writing, operator: Operator) -> None:
    """`BiasSoftmax` over the last axis. Raises `UnsupportedError` for one over several."""
    x, bias = operator.inputs
    rank = len(writing.shape(x))
    if operator.integer("axis", 1) % rank != rank - 1 or len(writing.shape(bias)) != rank:
        raise UnsupportedError("a BiasSoftmax over several axes is not supported yet")
    total = writing.add("Add", 14, (x, bias))
    writing.add("Softmax", 13, (total,), operator.outputs[0], axis=-1)
