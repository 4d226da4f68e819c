"""Whole models as PyTorch runs them in one of several ways: eager or compiled, in one layout, and
as CUDA graphs.
"""

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch._inductor import config as inductor_config
from torch._inductor.compile_fx import compile_fx
from torch.utils._pytree import tree_leaves

from benanza_runner.arrays import Array
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

DTYPES: dict[Precision, Any] = {
    precision: getattr(torch, facts.element_type) for precision, facts in PRECISIONS.items()
}

FIRST_CALLS = 3
"""In these calls, PyTorch searches for algorithms."""

MAPS_NDIM = 4
"""Inputs of so many axes are feature maps, whose layout can be chosen."""


def set_precision(precision: Precision) -> None:
    """Lets float32 be multiplied as TF32 on a GPU, or forbids it, for this whole process."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = precision == "tf32"


class TorchConfiguration(NamedTuple):
    """A way of running a model. `compiled` is by `torch.compile` with the weights frozen."""

    nhwc: bool
    compiled: bool
    max_autotune: bool = False

    def title(self) -> str:
        """For people: `compiled, NHWC`."""
        way = "compiled" if self.compiled else "eager"
        return f"{way}{', max-autotune' * self.max_autotune}, {'NHWC' if self.nhwc else 'NCHW'}"

    def options(self) -> dict[str, Any]:
        """Options of the compiler beyond its defaults: it keeps the layout of feature maps."""
        options: dict[str, Any] = {"layout_optimization": self.nhwc}
        if self.max_autotune:
            options |= torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
        return options


class NotYetError(Exception):
    """Something compiled was to run, and may not yet."""


class Prepared:
    """A model as one configuration runs it, on the device. Raises what PyTorch does.

    The first call of what is compiled compiles it. `compile` does that and stops before
    anything of it runs.
    """

    def __init__(
        self,
        configuration: TorchConfiguration,
        model: Any,
        inputs: Sequence[Any],
        device: str,
        dtype: Any,
    ) -> None:
        layout = torch.channels_last if configuration.nhwc else torch.contiguous_format
        self._configuration = configuration
        self.model = copy.deepcopy(model).to(device, dtype, memory_format=layout)
        self.device, self._dtype, self._layout = device, dtype, layout
        self.inputs = [self.placed(tensor) for tensor in inputs]
        self._may_run = True
        if configuration.compiled:
            inductor_config.freezing = True  # for this process: it has to hold at the first call
            self.model = torch.compile(self.model, backend=self._backend, dynamic=False)

    def compile(self) -> None:
        """Compiles the model if the configuration says so."""
        if self._configuration.compiled:
            self._may_run = False
            with suppress(NotYetError):
                self.run()
            self._may_run = True

    def placed(self, tensor: Any) -> Any:
        """An input as the model takes it: on the device, of its type and in its layout."""
        return tensor.to(
            self.device,
            self._dtype if tensor.is_floating_point() else tensor.dtype,
            memory_format=self._layout if tensor.ndim == MAPS_NDIM else torch.preserve_format,
        )

    def run(self) -> Any:
        """Runs the model once. The result may not be computed yet when this returns."""
        with torch.no_grad():
            return self.model(*self.inputs)

    def results(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs the model for these inputs, in the order of its own, and gives copies of its results
        on the host, in float32 where they are bfloat16, which NumPy lacks.
        """
        tensors = [self.placed(torch.from_numpy(array)) for array in inputs]
        with torch.no_grad():
            return on_host(self.model(*tensors))

    def _backend(self, graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        compiled = compile_fx(graph, inputs, config_patches=self._configuration.options())

        def run(*arguments: Any) -> Any:
            if not self._may_run:
                raise NotYetError
            return compiled(*arguments)

        return run


def on_host(results: Any) -> list[Array]:
    """Copies of the tensors among a model's results, as of `Prepared.results`."""
    return [each.cpu().numpy().copy() for each in _results(results)]


def _results(results: Any) -> list[Any]:
    """The tensors among a model's results, in a type that NumPy has."""
    tensors = [each for each in tree_leaves(results) if isinstance(each, torch.Tensor)]
    return [each.float() if each.dtype == torch.bfloat16 else each for each in tensors]


def captured(run: Callable[[], Any], calls: int) -> tuple[Any, Any]:
    """One CUDA graph of so many calls, and the tensor in which the last one leaves its result."""
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph, stream=_side_stream()):
        for _ in range(calls):
            result = run()
    return graph, result


class CapturedCall:
    """A prepared model as one CUDA graph, which is filled for each call.

    Inputs and results pass through page-locked memory on the host, which the GPU reads and writes
    by itself. Other memory would be copied to the driver's buffers first, piece by piece. Results
    stay there: it is new to each call, and PyTorch gives it out again once nobody holds it.
    """

    def __init__(self, prepared: Prepared, inputs: Sequence[Array]) -> None:
        """For inputs of the same shapes and types as these. Raises what PyTorch does."""
        self._prepared = prepared  # a graph reads the model's weights, and doesn't keep them
        tensors = [torch.from_numpy(array) for array in inputs]
        self._sent = [page_locked(tensor) for tensor in tensors]
        # The first calls read them: what memory happens to hold may be no index of a table.
        self._given = [tensor.to(prepared.device, copy=True) for tensor in tensors]
        first_calls(self._run, prepared.device)
        self._graph, self._results = captured(self._run, 1)

    def results(self, inputs: Sequence[Array]) -> list[Array]:
        """As of `Prepared`. Inputs that are in page-locked memory aren't copied on the host."""
        for sent, given, array in zip(self._sent, self._given, inputs, strict=True):
            if not is_page_locked(array):
                np.copyto(sent.numpy(), array)
                array = sent.numpy()
            given.copy_(torch.from_numpy(array), non_blocking=True)
        self._graph.replay()
        received = [page_locked(result) for result in self._results]
        for to, result in zip(received, self._results, strict=True):
            to.copy_(result, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return [to.numpy() for to in received]

    def _run(self) -> list[Any]:
        for place, given in zip(self._prepared.inputs, self._given, strict=True):
            place.copy_(given)
        return _results(self._prepared.run())


def is_page_locked(array: Array) -> bool:
    """Whether a GPU reads the array where it is. What PyTorch takes no view of isn't."""
    if not (array.flags.carray and array.dtype.isnative):
        return False
    locked: bool = torch.from_numpy(array).is_pinned()
    return locked


def page_locked(tensor: Any) -> Any:
    """Memory on the host for a tensor like this. Without a GPU no memory is page-locked."""
    return torch.empty_like(
        tensor,
        device="cpu",
        memory_format=torch.contiguous_format,
        pin_memory=torch.cuda.is_available(),
    )


@cache
def _side_stream() -> Any:
    """The stream of this process beside the default one. With a third in use, each kernel of any
    graph starts 0.3 µs later on an H200, so that resnet50 takes 12 % longer at batch size 1.
    """
    return torch.cuda.Stream()


def first_calls(run: Callable[[], Any], device: str) -> None:
    """The calls that come before those that are timed or captured. On a GPU they are on the stream
    of captured calls.
    """
    if device == "cpu":
        run()
        return
    stream = _side_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(FIRST_CALLS):
            run()
    torch.cuda.synchronize()
