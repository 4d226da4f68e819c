"""The witness: a whole model, run as its bound says.

It replays the variants that the bound adds up, each reading what another wrote, and so shows how
much of the bound can be had.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import cupy

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Shape
from benanza_runner.cuda.candidate import Candidate, Run
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.lowering.lower import lower, reads
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.cuda.whole_model.arena import ALIGNMENT
from benanza_runner.cuda.whole_model.lifetimes import last_readers, viewed
from benanza_runner.cuda.whole_model.linked_workspace import LinkedWorkspace
from benanza_runner.cuda.whole_model.model_inputs import model_inputs
from benanza_runner.cuda.whole_model.streams import STREAMS, assign
from benanza_runner.cuda.whole_model.values import Values, natural
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.element_types import FLOATS, PRECISIONS
from benanza_schemas.layer import Precision
from benanza_schemas.program import Program, ProgramStep

WIDEST = 8
"""Bytes of an integer, at most."""


class ModelCall(NamedTuple):
    """What one step starts: layout conversions, then the variant.

    `after` holds the positions of the calls that have to end before. `weights` are what it reads
    that the model fixes. `us` and `wait_us` are the times of its `Choice`, in microseconds.
    """

    runs: tuple[Run, ...]
    after: tuple[int, ...]
    weights: tuple[DeviceTensor, ...] = ()
    us: float = 0.0
    wait_us: float = 0.0


class PreparedProgram:
    """A program made ready to run at a precision, on one stream or, if `parallel`, on several.

    Calls that run one after the other share memory as a framework's do: memory of values that
    nothing reads any more is used again. For calls that run in parallel, each value has memory of
    its own. `use` makes a stream the one that libraries start their work on. `layout_conversions`
    counts those that the calls need. Raises `UnsupportedError` where a step can't be run.
    """

    def __init__(
        self,
        libraries: Sequence[CandidateSource],
        use: Callable[[Any], None],
        stream: Any,
        program: Program,
        precision: Precision,
        *,
        parallel: bool,
    ) -> None:
        self._libraries = libraries
        self._use = use
        self._precision: Precision = precision
        self._parallel = parallel
        self.stream = stream
        self._streams = [stream]
        self._scratch: list[Any] = []
        self.layout_conversions = 0
        self.values = Values(precision, _memory_bytes(program, precision), reuse=not parallel)
        self.calls = self._calls(program)
        self._lanes = [0] * len(self.calls)
        if parallel:
            self._lanes = assign([call.after for call in self.calls])
            self._streams += [cupy.cuda.Stream(non_blocking=True) for _ in range(STREAMS - 1)]
        self._begin = cupy.cuda.Event(disable_timing=True)
        self._ends = [cupy.cuda.Event(disable_timing=True) for _ in self.calls]

    def run(self) -> None:
        """Starts the model once; it may be captured into a graph of the first stream."""
        if not self._parallel:
            for call in self.calls:
                for run in call.runs:
                    run()
            return
        try:
            self._run_parallel()
        finally:
            self._use(self._streams[0])

    def results(self, names: Iterable[str]) -> dict[str, Array]:
        """What the last run left in these values, in ONNX's order of axes."""
        return {name: self.values.tensor(name).floats().get() for name in names}

    def _run_parallel(self) -> None:
        main = self._streams[0]
        self._begin.record(main)
        last: dict[int, int] = {}
        for index, (call, lane) in enumerate(zip(self.calls, self._lanes, strict=True)):
            stream = self._streams[lane]
            self._use(stream)
            if lane not in last and lane:
                stream.wait_event(self._begin)
            for before in call.after:
                if self._lanes[before] != lane:
                    stream.wait_event(self._ends[before])
            for run in call.runs:
                run()
            self._ends[index].record(stream)
            last[lane] = index
        for lane, index in last.items():
            if lane:
                main.wait_event(self._ends[index])

    def _calls(self, program: Program) -> list[ModelCall]:
        calls: list[ModelCall] = []
        makers: dict[str, list[int]] = {}
        leaving = last_readers(program)
        for index, step in enumerate(program.steps):
            if step.choice is None:
                name, of = viewed(step)
                makers[name] = makers.setdefault(of, [])
                conversion = self._view(step, name, of)
                if conversion is not None:
                    self.layout_conversions += 1
                    calls.append(ModelCall((conversion,), tuple(makers[of])))
                    makers[of].append(len(calls) - 1)
            else:
                workspace, candidate, read = self._found(step)
                self.layout_conversions += len(workspace.first)
                before = sorted({call for name in read for call in makers.get(name, ())})
                for name in read if workspace.first else ():
                    makers.setdefault(name, []).append(len(calls))
                makers |= {name: [len(calls)] for name, _ in _written(step)}
                own = () if candidate.in_place else (candidate.run,)
                runs = *workspace.first, *own
                weights, choice = tuple(workspace.weights()), step.choice
                calls.append(ModelCall(runs, tuple(before), weights, choice.us, choice.waits_us))
            for name in leaving.get(index, ()):
                self.values.forget(name)
        return calls

    def _view(self, step: ProgramStep, name: str, of: str) -> Run | None:
        """Makes the view. Returns the layout conversion that has to run first, if any."""
        tensors = dict(zip(step.names, step.layer.tensors, strict=True))
        shape, given = tensors[name].shape, tensors[of].shape
        order = self.values.order(of)
        if shape == given and order is not None:
            self.values.view(name, of, shape, order)
            return None
        random = None
        if order is None:
            layer = retyped(step.layer, "fp32")
            random = model_inputs(layer, self._precision)[step.layer.operators[0].inputs[0]]
        _, conversion = self.values.read(of, given, natural(given), random)
        self.values.view(name, of, shape, natural(shape))
        return conversion

    def _found(self, step: ProgramStep) -> tuple[LinkedWorkspace, Candidate, list[str]]:
        """The step's workspace, its variant made ready, and the values that it reads.

        Raises `UnsupportedError` if no library offers the variant any more.
        """
        assert step.choice is not None
        layer = retyped(step.layer, "fp32")
        given = model_inputs(layer, self._precision)
        lowered = lower(layer, given)
        read = {name: step.names[position] for name, position in reads(lowered, given).items()}
        workspace = LinkedWorkspace(
            lowered,
            self.values,
            read,
            _written(step),
            step.choice.layout,
            self._scratch_of,
        )
        for library in self._libraries:
            if library.library != step.choice.library:
                continue
            for candidate in library.candidates(workspace):
                if isinstance(candidate, Candidate) and (
                    candidate.algorithm,
                    candidate.layout,
                ) == (step.choice.algorithm, step.choice.layout):
                    candidate.prepare()
                    return workspace, candidate, list(dict.fromkeys(read.values()))
        raise UnsupportedError(
            f"{step.layer.title()}: {step.choice.library} offers {step.choice.algorithm} "
            f"{step.choice.layout} no more"
        )

    def _scratch_of(self, size: int) -> int:
        """Scratch memory, which all calls share unless they run in parallel."""
        if self._parallel or not self._scratch or self._scratch[-1].size < size:
            self._scratch.append(cupy.empty(max(size, 1), cupy.uint8))
        return int(self._scratch[-1].data.ptr)


def _written(step: ProgramStep) -> list[tuple[str, Shape]]:
    """The names and the shapes of the values that a step writes."""
    return [(step.names[index], step.layer.tensors[index].shape) for index in step.layer.outputs]


def _memory_bytes(program: Program, precision: Precision) -> int:
    """Memory for each value twice, in case it is needed in both layouts."""
    sizes: dict[str, int] = {}
    for step in program.steps:
        for name, tensor in zip(step.names, step.layer.tensors, strict=True):
            if not tensor.constant:
                wide = 0 if tensor.dtype in FLOATS else WIDEST
                sizes[name] = prod(tensor.shape) * max(PRECISIONS[precision].bytes, wide)
    return sum(2 * (size + ALIGNMENT) for size in sizes.values())
