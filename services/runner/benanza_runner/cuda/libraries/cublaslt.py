"""Matrix products through cuBLASLt (`nvmath.bindings.cublasLt`).

cuBLASLt takes matrices by column, so a product of matrices by row is asked for transposed:
dᵀ = bᵀ · aᵀ, with n rows and m columns. Source: the cuBLAS documentation, section "Using the
cuBLASLt API".
"""

import math
from collections.abc import Iterator
from typing import Any

import cupy
import msgspec
import numpy as np
from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import Convolution, MergedProduct, Product, Shape
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import MOST_ELEMENTS
from benanza_runner.cuda.kernels.movement import unpad
from benanza_runner.cuda.layouts import Order, feature_map_layouts
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_runner.variants import FailedVariant
from benanza_schemas.layer import Precision

LIBRARY = "cublasLt"
CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF = 0, 2, 14
COMPUTE_32F, COMPUTE_32F_FAST_TF32 = 68, 77
TYPES: dict[Precision, int] = {
    "fp32": CUDA_R_32F,
    "tf32": CUDA_R_32F,
    "fp16": CUDA_R_16F,
    "bf16": CUDA_R_16BF,
}
SCRATCH_BYTES = 1 << 26
ALIGNED_BYTES = 16
UNPADDED = "unpadded"
"""The operand that is the result of a product with padded columns, without these."""

EPILOGUES = {
    (False, ""): cublasLt.Epilogue.DEFAULT,
    (True, ""): cublasLt.Epilogue.BIAS,
    (False, "Relu"): cublasLt.Epilogue.RELU,
    (True, "Relu"): cublasLt.Epilogue.RELU_BIAS,
    (False, "GeluTanh"): cublasLt.Epilogue.GELU,
    (True, "GeluTanh"): cublasLt.Epilogue.GELU_BIAS,
}
"""By bias and activation. The documentation doesn't say which GELU it means; XLA uses it for the
approximation by tanh (openxla/xla#7751)."""

KNOBS = ("ID", "TILE_ID", "STAGES_ID", "SPLITK_NUM", "REDUCTION_SCHEME", "CTA_SWIZZLING")
KNOBS_OF_HOPPER = ("INNER_SHAPE_ID", "CLUSTER_SHAPE_ID", "CUSTOM_OPTION")


class CublasLt:
    """Candidates for products and for convolutions that are products.

    The heuristic is asked for at most so many algorithms of a call.
    """

    library = LIBRARY

    def __init__(self, most_algorithms: int) -> None:
        self._handle = cublasLt.create()
        self._most = most_algorithms

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | FailedVariant]:
        """The algorithms that the heuristic offers, with a weight as it lies, transposed, and with
        padded columns.
        """
        for product, layout, operands in _products(workspace):
            try:
                problem = _FloatProblem(self._handle, workspace, product, operands)
                offered = problem.algorithms(self._most)
            except (cublasLt.cuBLASLtError, UnsupportedError) as error:
                yield refused(LIBRARY, "heuristic", layout, error)
                continue
            if not offered:
                yield refused(LIBRARY, "heuristic", layout, "the heuristic offers no algorithm")
            padded = ", columns padded" if UNPADDED in operands else ""
            for name, algorithm, size in offered:
                yield problem.candidate(name + padded, algorithm, size, layout)


def _products(workspace: Workspace) -> Iterator[tuple[Product, str, dict[str, DeviceTensor]]]:
    """The call as products, each with its layout and operands.

    A convolution is a product if its pixels are rows.
    """
    call = workspace.call
    if isinstance(call, MergedProduct):
        yield from _merged(workspace, call)
    names = [name for name in ("bias", "residual") if getattr(call, name, False)]
    if isinstance(call, Product):
        more = {name: workspace.operand(name) for name in names}
        result = workspace.result(call.output)
        a, b = workspace.operand("a"), workspace.operand("b")
        yield call, "", {"a": a, "b": b, "result": result, **more}
        matrix = (call.n, call.k) if call.b_transposed else (call.k, call.n)
        if call.b_constant and call.batch == 1 and b.shape == matrix:
            turned = Product(
                **{f: getattr(call, f) for f in call.__struct_fields__ if f != "b_transposed"},
                b_transposed=not call.b_transposed,
            )
            b = workspace.operand("b", (1, 0))
            yield turned, "weights transposed", {"a": a, "b": b, "result": result, **more}
            operands = {"a": a, "result": result}
            of_rows = (0, 1) if call.b_transposed else (1, 0)
            yield from _padded(workspace, call, "", operands, ("b", matrix, of_rows))
    elif isinstance(call, Convolution) and is_product(call):
        layout, order = list(feature_map_layouts(len(call.input)))[1]
        operands = {
            "a": workspace.expanded("input", call.input, order),
            "b": workspace.expanded("filter", call.filter, order),
            "result": workspace.result(call.output, order),
        }
        if call.bias:
            operands["bias"] = workspace.operand("bias")
        if call.residual:
            operands["residual"] = workspace.expanded("residual", call.output, order)
        # Groups lie next to each other in a pixel: pairs of matrices, a few columns apart.
        product = Product(
            output=call.output,
            batch=call.groups,
            m=math.prod(call.output) // call.output[1],
            n=call.output[1] // call.groups,
            k=call.filter[1],
            b_transposed=True,
            side_by_side=("a", "result"),
            b_constant=True,
            bias=call.bias,
            residual=call.residual,
            activation=call.activation,
            numbers=call.numbers,
        )
        yield product, layout, operands
        yield from _padded(workspace, product, layout, operands, ("filter", call.filter, order))


def _padded(
    workspace: Workspace,
    call: Product,
    layout: str,
    operands: dict[str, DeviceTensor],
    weight: tuple[str, Shape, Order],
) -> Iterator[tuple[Product, str, dict[str, DeviceTensor]]]:
    """The product with more columns, if rows of the result don't all begin at multiples of 16
    bytes, as Tensor Cores want it. The result is copied from there.

    `weight` is the name and the shape of the weight, and the order of its axes in which columns are
    the slowest.
    """
    result = operands["result"]
    size = result.element_bytes
    pack = ALIGNED_BYTES // size
    rows, n = call.rounds * call.m, -(-call.n // pack) * pack
    if call.n == n or call.k % pack or call.m == 1 or rows * n >= MOST_ELEMENTS:
        return
    if call.batch > 1 or call.a_transposed or call.residual or rows * n * size > MAX_SCRATCH_BYTES:
        return
    fixed = {weight[0], "bias"} if call.bias else {weight[0]}
    if not fixed <= workspace.fixed or (call.bias, call.activation) not in EPILOGUES:
        return
    padded = {
        "a": operands["a"],
        "b": workspace.padded(*weight, n),
        "result": workspace.memory.empty((rows, n), (0, 1), workspace.precision),
        UNPADDED: result,
    }
    if call.bias:
        padded["bias"] = workspace.padded("bias", (call.n,), (0,), n)
    yield msgspec.structs.replace(call, n=n, b_transposed=True), layout, padded


def _merged(
    workspace: Workspace, call: MergedProduct
) -> Iterator[tuple[Product, str, dict[str, DeviceTensor]]]:
    """The products as a batch that shares its first operand, with both orders of the weights."""
    results = workspace.results(call.product.output, call.count)
    operands = {"a": workspace.operand("a"), "result": results[0]}
    operands |= {f"result {at}": each for at, each in enumerate(results[1:], 1)}
    if call.product.bias:
        operands["bias"] = workspace.operand("bias")
    fields = {"batch": call.count, "a_repeated": True}
    product = msgspec.structs.replace(call.product, **fields)
    yield product, "", operands | {"b": workspace.operand("b")}
    turned = msgspec.structs.replace(product, b_transposed=not product.b_transposed)
    yield turned, "weights transposed", operands | {"b": workspace.operand("b", (0, 2, 1))}


def is_product(call: Convolution) -> bool:
    """Whether each output pixel is the product of one input pixel with the filter."""
    ones = (1,) * len(call.strides)
    return (
        not call.has_prologue
        and call.filter[1] > 1
        and call.filter[2:] == ones
        and call.strides == ones
        and not any(call.pads_before + call.pads_after)
    )


class _FloatProblem:
    """Descriptors of a product on given memory."""

    def __init__(
        self, handle: int, workspace: Workspace, call: Product, operands: dict[str, DeviceTensor]
    ) -> None:
        self._handle = handle
        self._workspace = workspace
        self._call = call
        self._operands = operands
        self._type = TYPES[workspace.precision]
        self._alpha = np.array([call.alpha], np.float32)
        self._beta = np.array([call.beta if call.residual else 0.0], np.float32)
        compute = COMPUTE_32F_FAST_TF32 if workspace.precision == "tf32" else COMPUTE_32F
        self._what = cublasLt.matmul_desc_create(compute, CUDA_R_32F)
        self._layouts: list[int] = []
        self._describe()
        a_shape = (call.k, call.m) if not call.a_transposed else (call.m, call.k)
        b_shape = (call.n, call.k) if not call.b_transposed else (call.k, call.n)
        # By column: what has k columns in a row of memory is a matrix of k rows.
        self._a = self._matrix("a", *a_shape)
        self._b = self._matrix("b", *b_shape)
        self._d = self._matrix("result", call.n, call.m)

    def _describe(self) -> None:
        attribute = cublasLt.MatmulDescAttribute
        # b comes first, see above.
        self._set(attribute.TRANSA, np.int32(1 if self._call.b_transposed else 0))
        self._set(attribute.TRANSB, np.int32(1 if self._call.a_transposed else 0))
        key = self._call.bias, self._call.activation
        if key not in EPILOGUES:
            raise UnsupportedError(f"cuBLASLt has no epilogue with {self._call.activation}")
        self._set(attribute.EPILOGUE, np.int32(EPILOGUES[key]))
        if self._call.bias:
            self._set(attribute.BIAS_POINTER, np.int64(self._operands["bias"].pointer))
            self._set(attribute.BIAS_DATA_TYPE, np.int32(self._type))
            if self._call.batch > 1:
                apart = isinstance(self._workspace.call, Convolution | MergedProduct)
                step = self._call.n if apart else 0
                self._set(attribute.BIAS_BATCH_STRIDE, np.int64(step))

    def _set(self, attribute: int, value: Any) -> None:
        data = np.array([value])
        cublasLt.matmul_desc_set_attribute(self._what, attribute, data.ctypes.data, data.nbytes)

    def _matrix(self, name: str, rows: int, columns: int) -> int:
        """The layout of an operand, of so many rows by column."""
        call = self._call
        side_by_side = name in call.side_by_side
        leading, step = (rows * call.batch, rows) if side_by_side else (rows, rows * columns)
        if name == "a" and call.a_repeated:
            step = 0
        layout = int(cublasLt.matrix_layout_create(self._type, rows, columns, leading))
        self._layouts.append(layout)
        if call.batch > 1:
            attribute = cublasLt.MatrixLayoutAttribute
            for kind, value in (
                (attribute.BATCH_COUNT, np.int32(call.batch)),
                (attribute.STRIDED_BATCH_OFFSET, np.int64(step)),
            ):
                data = np.array([value])
                cublasLt.matrix_layout_set_attribute(layout, kind, data.ctypes.data, data.nbytes)
        return layout

    def algorithms(self, most: int) -> list[tuple[str, Any, int]]:
        """Name, algorithm and bytes of scratch memory of each, the most promising first."""
        return heuristic(self._handle, self._what, (self._b, self._a, self._d), most)

    def candidate(self, name: str, algorithm: Any, size: int, layout: str) -> Candidate:
        """The product by this algorithm, with `size` bytes of scratch memory."""
        operands = self._operands
        a, b, result = operands["a"].pointer, operands["b"].pointer, operands["result"]
        target = operands.get(UNPADDED, result)
        copy = unpad(result, target) if target is not result else None
        added, written = operands.get("residual", result).pointer, result.pointer
        call, size_of_one = self._call, result.element_bytes
        a_step = call.batch * call.m * call.k * size_of_one
        b_step = call.batch * call.k * call.n * size_of_one if call.b_by_round else 0
        d_step = call.batch * call.m * call.n * size_of_one
        scratch = 0

        def prepare() -> int:
            nonlocal scratch
            scratch = self._workspace.scratch(SCRATCH_BYTES)
            return size

        def run() -> None:
            stream = cupy.cuda.get_current_stream().ptr
            for each in range(call.rounds):
                cublasLt.matmul(
                    self._handle,
                    self._what,
                    self._alpha.ctypes.data,
                    b + each * b_step,
                    self._b,
                    a + each * a_step,
                    self._a,
                    self._beta.ctypes.data,
                    added + each * d_step,
                    self._d,
                    written + each * d_step,
                    self._d,
                    algorithm.ctypes.data,
                    scratch,
                    size,
                    stream,
                )
            if copy is not None:
                copy()

        more = tuple(operands[name] for name in operands if name.startswith("result "))
        return Candidate(LIBRARY, name, layout, prepare, run, target, more)

    def __del__(self) -> None:
        for layout in self._layouts:
            cublasLt.matrix_layout_destroy(layout)
        cublasLt.matmul_desc_destroy(self._what)


def heuristic(
    handle: int, what: int, matrices: tuple[int, int, int], most: int
) -> list[tuple[str, Any, int]]:
    """Name, algorithm and bytes of scratch memory of what cuBLASLt's heuristic offers.

    The most promising algorithm comes first, and there are at most so many. `what` describes the
    product; `matrices` are the layouts of both factors and of the result.
    """
    preference = cublasLt.matmul_preference_create()
    data = np.array([SCRATCH_BYTES], np.uint64)
    kind = cublasLt.MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES
    cublasLt.matmul_preference_set_attribute(preference, kind, data.ctypes.data, data.nbytes)
    found = cublasLt.MatmulHeuristicResult(most)
    count = np.zeros(1, np.int32)
    first, second, result = matrices
    cublasLt.matmul_algo_get_heuristic(
        handle,
        what,
        first,
        second,
        result,
        result,
        preference,
        most,
        found.ptr,
        count.ctypes.data,
    )
    cublasLt.matmul_preference_destroy(preference)
    offered = []
    for index in range(int(count[0])):
        algorithm = np.array(found.algo[index]).copy()
        size = int(np.ravel(found.workspace_size)[index])
        offered.append((_name(algorithm), algorithm, size))
    return offered


def _name(algorithm: Any) -> str:
    """Number and configuration, by which it is found again: `algorithm 66 (TILE_ID=20, …)`."""
    values = {}
    for knob in KNOBS + KNOBS_OF_HOPPER:
        kind = getattr(cublasLt.MatmulAlgoConfigAttribute, knob)
        data = np.zeros(1, cublasLt.get_matmul_algo_config_attribute_dtype(kind))
        written = np.zeros(1, np.uint64)
        cublasLt.matmul_algo_config_get_attribute(
            algorithm.ctypes.data, kind, data.ctypes.data, data.nbytes, written.ctypes.data
        )
        values[knob] = int(data[0])
    number = values.pop("ID")
    return f"algorithm {number} ({', '.join(f'{k}={v}' for k, v in values.items() if v)})"
