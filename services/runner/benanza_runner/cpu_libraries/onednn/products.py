"""Matrix products, with what follows them in the same call."""

from collections.abc import Iterator
from math import prod

import numpy as np

from benanza_runner.cpu_libraries.onednn.activations import functions
from benanza_runner.cpu_libraries.onednn.attributes import (
    Applied,
    Attributes,
    Combined,
    Operation,
    Step,
    ValueFunction,
)
from benanza_runner.cpu_libraries.onednn.binding import OneDnnError
from benanza_runner.cpu_libraries.onednn.memory import (
    Memory,
    Shape,
    TensorDescriptor,
    anyhow,
    as_array,
    empty,
    strided,
)
from benanza_runner.cpu_libraries.onednn.plan import (
    FIRST,
    INFERENCE,
    Operands,
    Plan,
    Ready,
    worth_trying,
)
from benanza_runner.cpu_libraries.onednn.primitive import (
    Argument,
    Primitive,
    Way,
    reordered,
    ways,
)
from benanza_runner.cuda.calls import Matrices, Product
from benanza_runner.cuda.unsupported import UnsupportedError


def product_plans(call: Product, operands: Operands) -> Iterator[Plan]:
    """The implementations of a product: as a matmul, and as an inner product with a weight.

    Raises `UnsupportedError` and `OneDnnError`.
    """
    if call.residual and call.beta != 1:
        raise UnsupportedError("oneDNN adds a matrix as it is, and no multiple of it")
    product = _Product(call, operands)
    yield from product.matmuls()
    if call.b_constant and call.rounds * call.batch == 1 and not call.a.transposed:
        try:
            yield from product.inner_products()
        except (OneDnnError, UnsupportedError):
            return  # It is the same product as above.


class _Product:
    """The operands of a product as oneDNN takes them."""

    def __init__(self, call: Product, operands: Operands) -> None:
        self._call, self._operands, self._onednn = call, operands, operands.onednn
        self._kind, self._dtype = operands.kind, operands.dtype
        self._a = self._memory("a", call.a, call.m, call.k)
        self._b = self._memory("b", call.b, call.k, call.n)

    def matmuls(self) -> Iterator[Plan]:
        """All ways as a matmul."""
        call, onednn = self._call, self._onednn
        leading = (1,) * (len(self._shape(call.result, call.m, call.n)) - 1)
        bias = self._operands.exact("bias", (*leading, call.n)) if call.bias else None
        steps: list[Step] = []
        if call.alpha != 1 and not call.b_constant:
            steps.append(Applied(ValueFunction.LINEAR, call.alpha))
            if bias is not None:
                steps.append(Combined(Operation.ADD, bias))
                bias = None
        attributes = self._attributes(steps)
        b = self._b.descriptor
        if call.b_constant:
            b = anyhow(onednn, self._shape(call.b, call.k, call.n), self._kind)
        added = None if bias is None else bias.descriptor
        found = ways(
            onednn, "matmul", attributes, self._a.descriptor, b, added, self._result().descriptor
        )
        yield from self._plans("matmul", found, attributes, self._b, bias)

    def inner_products(self) -> Iterator[Plan]:
        """All ways as an inner product, whose weight has the outputs first."""
        call, onednn = self._call, self._onednn
        bias = self._operands.exact("bias", (call.n,)) if call.bias else None
        attributes = self._attributes([])
        strides = (call.b.line, 1) if call.b.transposed else (1, call.b.line)
        turned = strided(onednn, (call.n, call.k), self._kind, strides)
        b = Memory(onednn, turned, self._b.data, call.b.start * self._dtype.itemsize)
        found = ways(
            onednn,
            "inner_product_forward",
            attributes,
            INFERENCE,
            self._a.descriptor,
            anyhow(onednn, (call.n, call.k), self._kind),
            None if bias is None else bias.descriptor,
            self._result().descriptor,
        )
        yield from self._plans("inner product", found, attributes, b, bias)

    def _attributes(self, steps: list[Step]) -> Attributes:
        call = self._call
        if call.residual:
            residual = self._memory("residual", call.result, call.m, call.n)
            steps.append(Combined(Operation.ADD, residual))
        return Attributes(self._onednn, (*steps, *functions(call.activation, call.numbers)))

    def _plans(
        self,
        kind: str,
        found: Iterator[Way],
        attributes: Attributes,
        b: Memory,
        bias: Memory | None,
    ) -> Iterator[Plan]:
        for way in worth_trying(found):

            def make(way: Way = way) -> Ready:
                result = self._result()
                memories = {
                    Argument.SOURCE: self._a,
                    Argument.WEIGHTS: reordered(self._onednn, b, way.wants(Argument.WEIGHTS)),
                    Argument.RESULT: result,
                    **attributes.memories,
                }
                if bias is not None:
                    memories[Argument.BIAS] = bias
                primitive = Primitive(self._onednn, way, memories)
                return Ready(primitive, lambda: as_array(result, self._call.output, self._dtype))

            yield Plan(f"{kind} {way.name}", FIRST, make)

    def _result(self) -> Memory:
        call = self._call
        described = self._described(call.result, call.m, call.n)
        whole = empty(self._onednn, strided(self._onednn, (prod(call.output),), self._kind))
        return Memory(self._onednn, described, whole.data, call.result.start * self._dtype.itemsize)

    def _memory(self, name: str, matrices: Matrices, rows: int, columns: int) -> Memory:
        array = self._operands.arrays[name]
        if name == "b" and self._call.b_constant and self._call.alpha != 1:
            array = (array.astype(np.float64) * self._call.alpha).astype(np.float32)
        described = self._described(matrices, rows, columns)
        data = self._operands.laid_out(array, FIRST).data
        return Memory(self._onednn, described, data, matrices.start * self._dtype.itemsize)

    def _shape(self, matrices: Matrices, rows: int, columns: int) -> Shape:
        """Rounds and pairs, where there are several, and the two axes of a matrix."""
        rounds = self._call.rounds if matrices.round else 1
        batch = self._call.batch if matrices.pair else 1
        leading = (rounds, batch)[2 - self._leading() :]
        return (*leading, rows, columns)

    def _leading(self) -> int:
        if self._call.rounds > 1:
            return 2
        return 1 if self._call.batch > 1 else 0

    def _described(self, matrices: Matrices, rows: int, columns: int) -> TensorDescriptor:
        shape = self._shape(matrices, rows, columns)
        across = (1, matrices.line) if matrices.transposed else (matrices.line, 1)
        steps = (matrices.round or 1, matrices.pair or 1)[2 - self._leading() :]
        return strided(self._onednn, shape, self._kind, (*steps, *across))
