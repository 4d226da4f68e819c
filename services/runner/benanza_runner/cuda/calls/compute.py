"""Calls that compute: products, windows over feature maps, element by element."""

import msgspec

from benanza_runner.cuda.calls.shape import Shape


class AnyConvolution(msgspec.Struct, frozen=True):
    """`activation(convolution + bias + residual)`.

    The operands are `input` and `filter`, and `bias` and `residual` if they are set. The number of
    groups follows from the channels of the filter.

    Feature maps with one axis of space have another of one here. `numbers` belong to the
    activation; PRelu has an operand `slope` instead, with one element for each channel of the
    output.
    """

    input: Shape
    filter: Shape
    output: Shape
    strides: Shape
    dilations: Shape
    pads_before: Shape
    pads_after: Shape
    bias: bool = False
    residual: bool = False
    activation: str = ""
    numbers: tuple[float, ...] = ()


class Convolution(AnyConvolution, frozen=True):
    """A convolution, and what comes before it.

    Before the input is padded with zeros and convolved, it is multiplied by `scale` and `shift` is
    added to it, by channel, if `scaled`; and then its Relu is taken, if `relu_first`.
    """

    scaled: bool = False
    relu_first: bool = False

    @property
    def groups(self) -> int:
        """How many groups the channels are in."""
        return self.input[1] // self.filter[1]

    @property
    def has_prologue(self) -> bool:
        """Whether anything is done to the input before it is convolved."""
        return self.scaled or self.relu_first


class TransposedConvolution(AnyConvolution, frozen=True):
    """The reverse of a convolution that would make `input` of `output`, and what follows it.

    The filter has the channels of the input first, and then those of the output in a group.
    """

    @property
    def groups(self) -> int:
        """How many groups the channels are in."""
        return self.output[1] // self.filter[1]


class Matrices(msgspec.Struct, frozen=True):
    """Where the matrices of an operand lie, in elements.

    They begin at `start`, those of a batch one `pair` after another (zero if it is one for all),
    those of the next round a `round` later. A matrix is lines of consecutive elements, which begin
    one `line` after another: its rows, or its columns if `transposed`.
    """

    line: int
    pair: int = 0
    round: int = 0
    start: int = 0
    transposed: bool = False


class Product(msgspec.Struct, frozen=True):
    """`activation(alpha · a · b + bias + beta · residual)` for `rounds` times `batch` pairs of
    matrices.

    `a` is m×k, `b` is k×n; `bias` and PRelu's `slope` have n elements; `residual` lies as the
    result does. If `b` is a weight (`b_constant`), the library may keep it transposed or not.
    `output` is the shape that the layer gives the result. `moved` has the shapes of the operands
    and of the result that the layer moves, whose order in memory is hence ONNX's.
    """

    output: Shape
    batch: int
    m: int
    n: int
    k: int
    a: Matrices
    b: Matrices
    result: Matrices
    rounds: int = 1
    b_constant: bool = False
    alpha: float = 1.0
    beta: float = 1.0
    bias: bool = False
    residual: bool = False
    activation: str = ""
    numbers: tuple[float, ...] = ()
    moved: tuple[Shape, ...] = ()


class MergedProduct(msgspec.Struct, frozen=True):
    """So many products of one `a` with weights `b` of the same size, each a result of its own.

    The operand `b` has the weights one after another, and `bias` has the rows of bias.
    """

    product: Product
    count: int


class EightBitProduct(msgspec.Struct, frozen=True):
    """`(a - a_zero) · (b - b_zero)` of 8-bit integers, in int32; or `a · b` of float8e4m3fn, in
    float32.

    Operands: `a` is m×k and the weight `b` k×n, of these types of elements: both integers, or both
    float8. If `a_zero`, there is an operand of that name with one element; if `b_zeros`, `b_zero`
    has so many: one, or one for each column. `output` is the shape that the layer gives the result.
    """

    output: Shape
    m: int
    n: int
    k: int
    a_element: str
    b_element: str
    a_zero: bool = False
    b_zeros: int = 0


class PackedProduct(msgspec.Struct, frozen=True):
    """`a · wᵀ + bias` with weights of few bits: `w = (b - zeros) · scales`.

    Operands: `a` is m×k; `b` has n rows of `blocks` blocks, each of so many weights as `block` says
    in `bits` bits each, the lowest first; `scales` has n×blocks elements. If `zeros`, an operand of
    that name has the zero points of a row's blocks, packed likewise in whole bytes, or n×blocks
    elements if they are `in_floats`; else they are 2^(bits-1). If there are `codes`, the bits of a
    weight say which of them times its scale it is, and of two in a byte the higher are the first.
    If `bias`, there is one with n elements. Weights from k on don't count. `output` is the shape
    that the layer gives the result.
    """

    output: Shape
    m: int
    n: int
    k: int
    bits: int
    block: int
    zeros: bool = False
    in_floats: bool = False
    codes: tuple[float, ...] = ()
    bias: bool = False

    @property
    def on_integers(self) -> bool:
        """Whether weights and zero points are integers."""
        return not (self.in_floats or self.codes)

    @property
    def blocks(self) -> int:
        """How many blocks a row of weights has."""
        return -(-self.k // self.block)


class Pooling(msgspec.Struct, frozen=True):
    """The largest or the mean element of windows; operand `input`.

    `mode` is `max`, `average` (over what lies in the input) or `average_padded` (over the
    whole window). Feature maps with one axis of space have another of one here.
    """

    mode: str
    input: Shape
    output: Shape
    window: Shape
    strides: Shape
    dilations: Shape
    pads_before: Shape


class Softmax(msgspec.Struct, frozen=True):
    """Softmax, or its logarithm, over the middle one of three axes; operand `input`."""

    output: Shape
    outer: int
    size: int
    inner: int
    logarithm: bool = False


class Normalisation(msgspec.Struct, frozen=True):
    """Local response normalisation over `size` neighbouring channels; operand `input`."""

    input: Shape
    size: int
    alpha: float
    beta: float
    bias: float


class Operand(msgspec.Struct, frozen=True):
    """What an element-wise call reads, repeated along the axes of the output that it lacks.

    `axes` are those that it has, without axes of one. An operand of `elements.INDEX` is not in
    memory: its elements are 0, 1, … along its one axis.
    """

    shape: Shape
    axes: tuple[int, ...]
    element: str = ""


class Elementwise(msgspec.Struct, frozen=True):
    """Statements of C computed for each element of the output.

    Operands `in0`, `in1`, … are read into variables of these names, whose types are those of
    `elements.variable`; `result` names the variable that is written. `operator` is the type of the
    operator of ONNX's own domain that the call is, if it is one alone.
    """

    output: Shape
    operands: tuple[Operand, ...]
    statements: tuple[str, ...]
    result: str
    element: str = ""
    operator: str = ""
