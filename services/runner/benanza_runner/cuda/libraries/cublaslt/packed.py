"""Products with packed weights through cuBLASLt, which a kernel unpacks before."""

from collections.abc import Iterator

from nvmath.bindings import cublasLt

from benanza_runner.cuda.calls import Matrices, PackedProduct, Product
from benanza_runner.cuda.candidate import Candidate, in_turn, refused
from benanza_runner.cuda.kernels.packed.weights import fits, unpacking
from benanza_runner.cuda.libraries.cublaslt.matmul import LIBRARY, CublasLtSource, FloatProblem
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant


class CublasLtPacked(CublasLtSource):
    """Candidates for products with weights of few bits."""

    library = LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The algorithms that the heuristic offers, behind the kernel that unpacks."""
        call = workspace.call
        if not isinstance(call, PackedProduct) or not fits(call):
            return
        weights = workspace.memory.empty((call.n, call.k), (0, 1), workspace.precision)
        operands = {
            "a": workspace.operand("a"),
            "b": weights,
            "result": workspace.result(call.output),
        }
        if call.bias:
            operands["bias"] = workspace.operand("bias")
        product = Product(
            output=call.output,
            batch=1,
            m=call.m,
            n=call.n,
            k=call.k,
            a=Matrices(call.k),
            b=Matrices(call.k, transposed=True),
            result=Matrices(call.n),
            b_constant=True,
            bias=call.bias,
        )
        unpack = unpacking(workspace, call, weights.array)
        try:
            problem = FloatProblem(self._handle, workspace, product, operands, by_pointers=False)
            offered = problem.algorithms(self._most)
        except (cublasLt.cuBLASLtError, UnsupportedError) as error:
            yield refused(LIBRARY, "unpacked, heuristic", "", error)
            return
        for name, algorithm, size in offered:
            candidate = problem.candidate(name, algorithm, size, "")
            yield candidate._replace(
                algorithm=f"unpacked, {candidate.algorithm}", run=in_turn(unpack, candidate.run)
            )
