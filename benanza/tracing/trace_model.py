"""The model of a trace: its operators as an ONNX file, and which layers they are.

Each operator is a part of its own, with inputs that nothing else writes: a trace doesn't say what
read the results of what.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import msgspec
from onnx import GraphProto, helper

from benanza.tracing.formats.recorded import TracedInputs, is_generated
from benanza.tracing.translating.translate import translated
from benanza.tracing.translating.writing import Writer
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.limits import Limits
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

OPSET = 23
"""Of the file: the first that has Attention and RMSNormalization."""

OLDER = (20, 17, 13, 9)
"""Opsets whose versions of the same operators are looked for, too: of PyTorch's exporters, and of
the `onnx` package's models. What they lack, or write otherwise, is no layer there.
"""

_EXPORTED = OLDER[0]

_CONVOLUTION = "aten::convolution"

_WRITTEN_SO_SINCE = {
    "Clip": 11,
    "LogSoftmax": 13,
    "ReduceMax": 18,
    "ReduceMean": 18,
    "ReduceMin": 18,
    "ReduceSum": 13,
    "Softmax": 13,
}
"""Operators that are written otherwise, or mean something else, before these opsets."""

_IR_VERSION = 11

Way = tuple[str, ...]
"""Fingerprints of what computes an operator together: layers, or a group."""


class TracedPart(NamedTuple):
    """An operator as layers, and the groups that stand for all of them. `ways` are the layers that
    take time, and each group, also in older versions of ONNX; of a generated kernel single calls
    only. `precision` is that of the first of
    its inputs that has one.

    Where it is none, `reason` says why, and there are no layers.
    """

    layers: tuple[ExtractedLayer, ...]
    groups: tuple[ExtractedGroup, ...]
    ways: tuple[Way, ...]
    precision: Precision
    reason: str


class TraceModel(NamedTuple):
    """The ONNX file of a trace, without weights, and the part for each operator."""

    content: bytes
    parts: tuple[TracedPart, ...]


def trace_model(operators: Sequence[tuple[str, TracedInputs | None]], limits: Limits) -> TraceModel:
    """The model of these operators, by name and inputs. What ingest can't take of them is no part
    of it. Raises `ModelError` if it would be too large as a whole.
    """
    written = [
        translated(name, inputs, _prefix(number)) for number, (name, inputs) in enumerate(operators)
    ]
    numbered = [(number, each) for number, each in enumerate(written) if isinstance(each, Writer)]
    for number, reason in _refused(numbered, limits).items():
        written[number] = reason
    writers = [part for part in written if isinstance(part, Writer)]
    content = _file(writers, OPSET)
    newest = _found(content, limits)
    older = [_before(_as_before(writers, opset), opset, limits) for opset in OLDER]
    older.append(_before(_with_biases(operators), _EXPORTED, limits))
    return TraceModel(
        content,
        tuple(
            TracedPart((), (), (), _precision(name, inputs), part)
            if isinstance(part, str)
            else _part(number, newest, older, _precision(name, inputs), as_one=is_generated(name))
            for number, (part, (name, inputs)) in enumerate(zip(written, operators, strict=True))
        ),
    )


def precision_of(inputs: TracedInputs | None) -> Precision:
    """That of the first input of a precision's type, fp32 where there is none."""
    dtypes = [] if inputs is None else list(inputs.dtypes)
    for dtype in dtypes:
        first = dtype[0] if isinstance(dtype, tuple) and dtype else dtype
        for precision, facts in PRECISIONS.items():
            if first == facts.element_type:
                return precision
    return "fp32"


def _precision(name: str, inputs: TracedInputs | None) -> Precision:
    """That of an operator, or of the largest tensor of a generated kernel: before it there may be
    sums in float32.
    """
    if inputs is None or not is_generated(name):
        return precision_of(inputs)
    sizes = [prod(size for size in shape if isinstance(size, int)) for shape in inputs.shapes]
    largest = [
        dtype if dtype and size == max(sizes) else ""
        for size, dtype in zip(sizes, inputs.dtypes, strict=False)
    ]
    return precision_of(msgspec.structs.replace(inputs, dtypes=tuple(largest)))


class _Found(NamedTuple):
    """The layers of an operator, and the groups that stand for all of them."""

    layers: tuple[ExtractedLayer, ...]
    groups: tuple[ExtractedGroup, ...]

    def reason(self) -> str:
        """Why they are not all known; empty if they are."""
        if not self.layers:
            return "ingest finds no layer in it"
        return next((layer.reason for layer in self.layers if layer.kind == "skipped"), "")

    def ways(self) -> Iterator[Way]:
        yield tuple(layer.fingerprint for layer in self.layers if layer.kind != "view")
        for group in self.groups:
            yield (group.fingerprint,)


def _refused(writers: Sequence[tuple[int, Writer]], limits: Limits) -> dict[int, str]:
    """Those that ingest can't take, by number, and why. One alone stops it, so they are looked for
    in halves.
    """
    try:
        extract(_file((writer for _, writer in writers), OPSET), limits=limits)
    except ModelError as error:
        if len(writers) == 1:
            return {writers[0][0]: f"its shapes can't be: {error}"}
        half = len(writers) // 2
        return _refused(writers[:half], limits) | _refused(writers[half:], limits)
    return {}


def _file(parts: Iterable[Writer], opset: int) -> bytes:
    graph = GraphProto(name="trace")
    for part in parts:
        graph.node.extend(part.nodes)
        graph.input.extend(part.read)
        graph.initializer.extend(part.weights)
        graph.output.extend(map(helper.make_empty_tensor_value_info, part.results))
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
    return bytes(model.SerializeToString())


def _before(writers: Iterable[Writer], opset: int, limits: Limits) -> dict[int, _Found]:
    """As `_found`; nothing where one of the operators can't be written at this opset, since they
    are looked for there only to know more of them.
    """
    try:
        return _found(_file(writers, opset), limits)
    except ModelError:
        return {}


def _as_before(writers: Iterable[Writer], opset: int) -> Iterator[Writer]:
    """Those that are written in the same way at this opset."""
    for writer in writers:
        if all(_WRITTEN_SO_SINCE.get(node.op_type, 0) <= opset for node in writer.nodes):
            yield writer


def _with_biases(operators: Iterable[tuple[str, TracedInputs | None]]) -> Iterator[Writer]:
    """Convolutions without a bias with one of zeros, as PyTorch's exporter writes them."""
    for number, (name, inputs) in enumerate(operators):
        if name != _CONVOLUTION or inputs is None or len(inputs.dtypes) < 3 or inputs.dtypes[2]:
            continue
        channels = inputs.shapes[1][:1]
        biased = msgspec.structs.replace(
            inputs,
            shapes=(*inputs.shapes[:2], channels, *inputs.shapes[3:]),
            dtypes=(*inputs.dtypes[:2], inputs.dtypes[1], *inputs.dtypes[3:]),
        )
        written = translated(name, biased, _prefix(number))
        if isinstance(written, Writer):
            yield written


def _found(content: bytes, limits: Limits) -> dict[int, _Found]:
    """What ingest makes of each operator, by its number."""
    model = extract(content, limits=limits)
    positions: dict[int, list[int]] = {}
    for position, layer in enumerate(model.layers):
        positions.setdefault(_number_in(layer.name), []).append(position)
    groups: dict[int, list[ExtractedGroup]] = {}
    for group in model.groups:
        number = _number_in(model.layers[group.layers[0]].name)
        of_number = set(positions[number])
        computing = {place for place in of_number if model.layers[place].kind != "view"}
        if computing <= set(group.layers) <= of_number:
            groups.setdefault(number, []).append(group)
    return {
        number: _Found(
            tuple(model.layers[position] for position in of_number),
            tuple(groups.get(number, ())),
        )
        for number, of_number in positions.items()
    }


def _part(
    number: int,
    newest: Mapping[int, _Found],
    older: Iterable[Mapping[int, _Found]],
    precision: Precision,
    *,
    as_one: bool,
) -> TracedPart:
    """Where it counts `as_one` call, several layers are no way to compute it."""
    found = newest.get(number, _Found((), ()))
    if reason := found.reason():
        return TracedPart((), (), (), precision, reason)
    alike = (of_opset.get(number, _Found((), ())) for of_opset in older)
    ways = [*found.ways(), *(way for each in alike if not each.reason() for way in each.ways())]
    if as_one:
        ways = [way for way in ways if len(way) == 1]
    if not ways:
        return TracedPart((), (), (), precision, "ingest proposes no call for all of it")
    return TracedPart(found.layers, found.groups, tuple(dict.fromkeys(ways)), precision, "")


def _prefix(number: int) -> str:
    return f"o{number}_"


def _number_in(name: str) -> int:
    return int(name.partition("_")[0].removeprefix("o"))
