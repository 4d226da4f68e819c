"""Which operators of frameworks are which nodes of ONNX, and why others are none."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from benanza.tracing.formats.recorded import TracedInputs, is_generated
from benanza.tracing.generated import fused_operators
from benanza.tracing.translating.fused import fused_kernel
from benanza.tracing.translating.products import Rule
from benanza.tracing.translating.rules import BY_SHAPES, COPIES, FILLS, RULES, VIEWS
from benanza.tracing.translating.writing import COPYING, UntranslatedError, Writer


def translated(name: str, inputs: TracedInputs | None, prefix: str) -> Writer | str:
    """The nodes of an operator, whose names begin with `prefix`; or why there are none."""
    rule = _rule(name)
    if rule is None:
        return _why_not(name)
    if inputs is None:
        return "the trace lacks the shapes and types of its inputs; record it with them"
    if inputs.launch_alone:
        return (
            "it ran on a GPU, of which ONNX Runtime's trace has the launch alone; time its calls "
            "with benanza profile"
        )
    if inputs.shapes_alone and name not in BY_SHAPES:
        return f"a report of Nsight Systems lacks the numbers and types that {name} needs"
    if inputs.shapes_alone and not any(inputs.dtypes):
        return "a report of Nsight Systems has no types; say which: --precision"
    if any(size < 0 for size in _sizes(inputs.shapes)):
        return "the trace gives an input a negative size"
    writer = Writer(prefix, inputs)
    try:
        writer.returns((rule(writer),))
    except UntranslatedError as error:
        return str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # A trace can contradict an operator's definition in too many ways to list.
        return f"its inputs aren't those of {name}"
    return writer


def _rule(name: str) -> Rule | None:
    if is_generated(name):
        return partial(fused_kernel, name=name) if fused_operators(name) else None
    return RULES.get(name)


def _sizes(shapes: Iterable[Any]) -> Iterator[int]:
    for shape in shapes:
        if isinstance(shape, int):
            yield shape
        else:
            yield from _sizes(shape)


def _why_not(name: str) -> str:
    if is_generated(name):
        return "a kernel that torch.compile wrote, and its name doesn't say of what operators"
    if name in COPIES:
        return COPYING
    if name in VIEWS:
        return "it only says how a tensor is seen: no layer needs it"
    if name in FILLS:
        return "it makes values of nothing: no layer needs it"
    return f"{name} has no translation to ONNX's operators here"
