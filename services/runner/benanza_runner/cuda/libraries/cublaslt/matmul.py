"""One product in cuBLASLt's terms (`nvmath.bindings.cublasLt`): descriptors, algorithms, the call.

cuBLASLt takes matrices by column, so a product of matrices by row is asked for transposed:
dᵀ = bᵀ · aᵀ, with n rows and m columns. Source: the cuBLAS documentation, section "Using the
cuBLASLt API".
"""

import math
from typing import Any

import cupy
import numpy as np
from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import Convolution, Matrices, MergedProduct, Product
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.unpadding import unpad
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace
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
ALIGNED_BYTES = 256
"""What the heuristic takes addresses to be multiples of if it isn't told otherwise."""

UNPADDED = "unpadded"
"""The operand that is the result of a product with padded columns, without these."""

WEIGHTS_TRANSPOSED = "weights transposed"
"""The layout of variants that want the weight as it lies after a Transpose, and no feature maps in
any layout. Where they want these as well, it is part of the algorithm's name."""

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


class CublasLtSource:
    """What those have in common that offer candidates of cuBLASLt: a handle, of the stream that is
    current. The heuristic is asked for at most so many algorithms of a call.
    """

    def __init__(self, most_algorithms: int) -> None:
        self._handle = cublasLt.create()
        self._most = most_algorithms


class FloatProblem:
    """A product on given memory.

    Its rounds are one batch with the pairs if `by_pointers`, else calls one after another.
    """

    def __init__(
        self,
        handle: int,
        workspace: Workspace,
        call: Product,
        operands: dict[str, DeviceTensor],
        by_pointers: bool,
    ) -> None:
        self._handle = handle
        self._workspace = workspace
        self._call = call
        self._operands = operands
        self._by_pointers = by_pointers
        self._type = TYPES[workspace.precision]
        self._alpha = np.array([call.alpha], np.float32)
        self._beta = np.array([call.beta if call.residual else 0.0], np.float32)
        compute = COMPUTE_32F_FAST_TF32 if workspace.precision == "tf32" else COMPUTE_32F
        self._what = cublasLt.matmul_desc_create(compute, CUDA_R_32F)
        self._layouts: list[int] = []
        self._pointers: list[Any] = []
        self._describe()
        # By column: what has k columns in a row of memory is a matrix of k rows.
        self._a = self._matrix(call.a, call.m, call.k)
        self._b = self._matrix(call.b, call.k, call.n)
        self._d = self._matrix(call.result, call.m, call.n)

    def _describe(self) -> None:
        attribute = cublasLt.MatmulDescAttribute
        # b comes first, see above.
        self._set(attribute.TRANSA, np.int32(1 if self._call.b.transposed else 0))
        self._set(attribute.TRANSB, np.int32(1 if self._call.a.transposed else 0))
        key = self._call.bias, self._call.activation
        if key not in EPILOGUES:
            raise UnsupportedError(f"cuBLASLt has no epilogue with {self._call.activation}")
        self._set(attribute.EPILOGUE, np.int32(EPILOGUES[key]))
        if self._call.bias:
            self._set(attribute.BIAS_POINTER, np.int64(self._operands["bias"].pointer))
            self._set(attribute.BIAS_DATA_TYPE, np.int32(self._type))
            if self._call.batch > 1:
                strided = isinstance(self._workspace.call, Convolution | MergedProduct)
                step = self._call.n if strided else 0
                self._set(attribute.BIAS_BATCH_STRIDE, np.int64(step))

    def _set(self, attribute: int, value: Any) -> None:
        data = np.array([value])
        cublasLt.matmul_desc_set_attribute(self._what, attribute, data.ctypes.data, data.nbytes)

    def _matrix(self, where: Matrices, rows: int, columns: int) -> int:
        call, attribute = self._call, cublasLt.MatrixLayoutAttribute
        lines, length = (columns, rows) if where.transposed else (rows, columns)
        layout = int(cublasLt.matrix_layout_create(self._type, length, lines, where.line))
        self._layouts.append(layout)
        values: dict[int, Any] = {}
        if self._by_pointers:
            values[attribute.BATCH_MODE] = np.int32(cublasLt.BatchMode.POINTER_ARRAY)
            values[attribute.BATCH_COUNT] = np.int32(call.rounds * call.batch)
        elif call.batch > 1:
            values[attribute.BATCH_COUNT] = np.int32(call.batch)
            values[attribute.STRIDED_BATCH_OFFSET] = np.int64(where.pair)
        for kind, value in values.items():
            data = np.array([value])
            cublasLt.matrix_layout_set_attribute(layout, kind, data.ctypes.data, data.nbytes)
        return layout

    def algorithms(self, most: int) -> list[tuple[str, Any, int]]:
        """Name, algorithm and bytes of scratch memory of each, the most promising first."""
        call = self._call
        aligned = self._aligned(call.b), self._aligned(call.a), self._aligned(call.result)
        offered = heuristic(self._handle, self._what, (self._b, self._a, self._d), most, aligned)
        more = ", columns padded" if UNPADDED in self._operands else ""
        more += ", arrays of pointers" if self._by_pointers else ""
        given = self._workspace.call
        if call.moved and isinstance(given, Product) and call.b.transposed != given.b.transposed:
            more += f", {WEIGHTS_TRANSPOSED}"
        return [(name + more, algorithm, size) for name, algorithm, size in offered]

    def _aligned(self, where: Matrices) -> int:
        """What the addresses of these matrices are multiples of, at least."""
        offsets = [where.start, where.round if self._call.rounds > 1 else 0]
        offsets.append(where.pair if self._by_pointers else 0)
        size = self._operands["result"].element_bytes
        return math.gcd(ALIGNED_BYTES, *(size * step for step in offsets))

    def candidate(self, name: str, algorithm: Any, size: int, layout: str) -> Candidate:
        """The product by this algorithm, with `size` bytes of scratch memory."""
        operands, call = self._operands, self._call
        result = operands["result"]
        target = operands.get(UNPADDED, result)
        copy = unpad(result, target) if target is not result else None
        of_b, of_a, of_added, of_result = (
            self._addresses(*matrix)
            for matrix in (
                (operands["b"], call.b),
                (operands["a"], call.a),
                (operands.get("residual", result), call.result),
                (result, call.result),
            )
        )
        calls = list(zip(of_b, of_a, of_added, of_result, strict=True))
        scratch = 0

        def prepare() -> int:
            nonlocal scratch
            scratch = self._workspace.scratch(SCRATCH_BYTES)
            return size

        def run() -> None:
            stream = cupy.cuda.get_current_stream().ptr
            for b, a, read, written in calls:
                cublasLt.matmul(
                    self._handle,
                    self._what,
                    self._alpha.ctypes.data,
                    b,
                    self._b,
                    a,
                    self._a,
                    self._beta.ctypes.data,
                    read,
                    self._d,
                    written,
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

    def _addresses(self, operand: DeviceTensor, where: Matrices) -> list[int]:
        """The address for each call of its matrices, or of the array of their addresses."""
        size, call = operand.element_bytes, self._call
        first = operand.pointer + size * where.start
        rounds = [first + size * where.round * number for number in range(call.rounds)]
        if not self._by_pointers:
            return rounds
        pairs = [
            begin + size * where.pair * number for begin in rounds for number in range(call.batch)
        ]
        self._pointers.append(cupy.array(pairs, np.int64))
        return [int(self._pointers[-1].data.ptr)]

    def __del__(self) -> None:
        for layout in self._layouts:
            cublasLt.matrix_layout_destroy(layout)
        cublasLt.matmul_desc_destroy(self._what)


def heuristic(
    handle: int,
    what: int,
    matrices: tuple[int, int, int],
    most: int,
    aligned: tuple[int, int, int] = (ALIGNED_BYTES,) * 3,
) -> list[tuple[str, Any, int]]:
    """Name, algorithm and bytes of scratch memory of what cuBLASLt's heuristic offers.

    The most promising algorithm comes first, and there are at most so many. `what` describes the
    product; `matrices` are the layouts of both factors and of the result, whose addresses are
    multiples of these numbers of bytes.
    """
    preference = cublasLt.matmul_preference_create()
    attribute = cublasLt.MatmulPreferenceAttribute
    first, second, result = map(np.uint32, aligned)
    for kind, value in (
        (attribute.MAX_WORKSPACE_BYTES, np.uint64(SCRATCH_BYTES)),
        (attribute.MIN_ALIGNMENT_A_BYTES, first),
        (attribute.MIN_ALIGNMENT_B_BYTES, second),
        (attribute.MIN_ALIGNMENT_C_BYTES, result),
        (attribute.MIN_ALIGNMENT_D_BYTES, result),
    ):
        data = np.array([value])
        cublasLt.matmul_preference_set_attribute(preference, kind, data.ctypes.data, data.nbytes)
    heuristic_results = cublasLt.MatmulHeuristicResult(most)
    count = np.zeros(1, np.int32)
    cublasLt.matmul_algo_get_heuristic(
        handle,
        what,
        *matrices,
        matrices[-1],
        preference,
        most,
        heuristic_results.ptr,
        count.ctypes.data,
    )
    cublasLt.matmul_preference_destroy(preference)
    offered = []
    for index in range(int(count[0])):
        algorithm = np.array(heuristic_results.algo[index]).copy()
        size = int(np.ravel(heuristic_results.workspace_size)[index])
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
