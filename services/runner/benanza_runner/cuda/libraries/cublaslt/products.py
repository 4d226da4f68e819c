"""Matrix products through cuBLASLt: what is one, and the forms in which it is asked for."""

import math
from collections.abc import Iterator

import msgspec
from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import Convolution, Matrices, MergedProduct, Product, Shape
from benanza_runner.cuda.candidate import Candidate, refused
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.launching import MOST_ELEMENTS
from benanza_runner.cuda.layouts import Order, feature_map_layouts
from benanza_runner.cuda.libraries.cublaslt.matmul import (
    EPILOGUES,
    LIBRARY,
    UNPADDED,
    WEIGHTS_TRANSPOSED,
    CublasLtSource,
    FloatProblem,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import MAX_SCRATCH_BYTES, Workspace
from benanza_schemas.events import Variant

PACK_BYTES = 16
"""What the rows of a matrix are aligned to for Tensor Cores."""


class CublasLt(CublasLtSource):
    """Candidates for products and for convolutions that are products."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms that the heuristic offers, with a weight as it lies, transposed, and with
        padded columns.
        """
        for product, layout, operands in _products(workspace):
            # Several rounds are one call by arrays of pointers, or a call each.
            for by_pointers in (False, True) if product.rounds > 1 else (False,):
                yield from self._offered(workspace, product, layout, operands, by_pointers)

    def _offered(
        self,
        workspace: Workspace,
        product: Product,
        layout: str,
        operands: dict[str, DeviceTensor],
        by_pointers: bool,
    ) -> Iterator[Candidate | Variant]:
        try:
            problem = FloatProblem(self._handle, workspace, product, operands, by_pointers)
            offered = problem.algorithms(self._most)
        except (cublasLt.cuBLASLtError, UnsupportedError) as error:
            yield refused(LIBRARY, "heuristic", layout, error)
            return
        if not offered:
            yield refused(LIBRARY, "heuristic", layout, "the heuristic offers no algorithm")
        for name, algorithm, size in offered:
            yield problem.candidate(name, algorithm, size, layout)


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
        layout = workspace.natural_layout(*call.moved)
        yield call, layout, {"a": a, "b": b, "result": result, **more}
        matrix = (call.n, call.k) if call.b.transposed else (call.k, call.n)
        if call.b_constant and call.batch == 1 and b.shape == matrix:
            operands = {"a": a, "b": workspace.operand("b", (1, 0)), "result": result, **more}
            yield _turned(call), layout or WEIGHTS_TRANSPOSED, operands
            operands = {"a": a, "result": result}
            of_rows = (0, 1) if call.b.transposed else (1, 0)
            yield from _padded(workspace, call, layout, operands, ("b", matrix, of_rows))
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
        groups, n, k = call.groups, call.output[1] // call.groups, call.filter[1]
        product = Product(
            output=call.output,
            batch=groups,
            m=math.prod(call.output) // call.output[1],
            n=n,
            k=k,
            a=Matrices(groups * k, pair=k),
            b=Matrices(k, pair=n * k, transposed=True),
            result=Matrices(groups * n, pair=n),
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
    pack = PACK_BYTES // size
    n = -(-call.n // pack) * pack
    if call.n == n or call.k % pack or call.m == 1 or call.m * n >= MOST_ELEMENTS:
        return
    if call.batch * call.rounds > 1 or call.residual or call.result.line != call.n:
        return
    if call.a.transposed or call.m * n * size > MAX_SCRATCH_BYTES:
        return
    fixed = {weight[0], "bias"} if call.bias else {weight[0]}
    if not fixed <= workspace.fixed or (call.bias, call.activation) not in EPILOGUES:
        return
    padded = {
        "a": operands["a"],
        "b": workspace.padded(*weight, n),
        "result": workspace.memory.empty((call.m, n), (0, 1), workspace.precision),
        UNPADDED: result,
    }
    if call.bias:
        padded["bias"] = workspace.padded("bias", (call.n,), (0,), n)
    of_rows = Matrices(call.k, transposed=True)
    yield msgspec.structs.replace(call, n=n, b=of_rows, result=Matrices(n)), layout, padded


def _turned(call: Product) -> Product:
    """The product with its weight as it lies after a Transpose."""
    line = call.n if call.b.transposed else call.k
    b = msgspec.structs.replace(call.b, line=line, transposed=not call.b.transposed)
    return msgspec.structs.replace(call, b=b)


def _merged(
    workspace: Workspace, call: MergedProduct
) -> Iterator[tuple[Product, str, dict[str, DeviceTensor]]]:
    """The products as a batch that shares its first operand, with both orders of the weights."""
    results = workspace.results(call.product.output, call.count)
    operands = {"a": workspace.operand("a"), "result": results[0]}
    operands |= {f"result {number}": result for number, result in enumerate(results[1:], 1)}
    if call.product.bias:
        operands["bias"] = workspace.operand("bias")
    one = call.product
    product = msgspec.structs.replace(
        one,
        batch=call.count,
        b=msgspec.structs.replace(one.b, pair=one.k * one.n),
        result=msgspec.structs.replace(one.result, pair=one.m * one.n),
    )
    yield product, "", operands | {"b": workspace.operand("b")}
    operands |= {"b": workspace.operand("b", (0, 2, 1))}
    yield _turned(product), WEIGHTS_TRANSPOSED, operands


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
