"""A product and the attention behind it, as one call, with libraries in NumPy."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benanza_runner.cuda.calls import Attention
from benanza_runner.cuda.candidate import Candidate, no_scratch, refused
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.in_parts.projected_attention import ProjectedAttentions
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.events import Variant
from tests.runner.cuda.in_numpy.attention import attention
from tests.runner.cuda.in_numpy.library import NumpyLibrary
from tests.runner.cuda.layers.own import PROJECTED


class _Attending:
    """Attention in NumPy, by one algorithm; another one is refused."""

    library = "attending"

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        call = workspace.call
        assert isinstance(call, Attention)
        result = workspace.result(call.output)

        def run() -> None:
            names = ["query", "key", "value", *(["mask"] if call.mask else [])]
            found = attention(call, {name: workspace.operand(name).array for name in names})
            result.array[...] = found

        yield refused(self.library, "other", "", "it is not tried")
        yield Candidate(self.library, "all", "", no_scratch, run, result)


class _InLayouts(NumpyLibrary):
    """Offers two candidates for each of two layouts."""

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        for layout, number in (("", 1), ("", 2), ("turned", 1), ("turned", 2)):
            for offered in super().candidates(workspace):
                assert isinstance(offered, Candidate)
                name = f"einsum {number}"
                yield offered._replace(algorithm=name, layout=layout, prepare=lambda: 64)


@pytest.mark.parametrize("name", list(PROJECTED))
def test_it_computes_what_the_layer_means(name: str, tmp_path: Path) -> None:
    layer = retyped(PROJECTED[name], "fp32")
    given = reference(layer, "fp32", 1)
    workspace = Workspace(lower(layer, given.values), "fp32", DeviceMemory(np))
    source = ProjectedAttentions(_InLayouts(tmp_path), (_Attending(),))
    unfit, *found = source.candidates(workspace)
    assert isinstance(unfit, Variant)
    assert [each.algorithm for each in found] == [
        "einsum 1, then attending all",
        "einsum 1, turned, then attending all",
    ]
    for each in found:
        assert isinstance(each, Candidate)
        assert each.library == unfit.library == source.library == "numpy"
        assert each.prepare() == 64
        each.result.array[...] = np.nan
        each.run()
        np.testing.assert_allclose(each.result.array, given.outputs[0], 1e-3, 1e-4)
