"""How long each value of a program is needed: a view needs the value that it is made of, and
a cache the one that it was before.
"""

from collections.abc import Iterable, Iterator

from benanza_runner.cuda.candidate import NO_LIBRARY
from benanza_runner.cuda.lowering.attention.cached_attention import CACHES, GROUPED
from benanza_runner.cuda.lowering.attention.paged_attention import PAGED
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import OMITTED
from benanza_schemas.program import Program, ProgramStep


def viewed(step: ProgramStep) -> tuple[str, str]:
    """The names of the value that a view makes, and of the one that it is made of.

    Raises `UnsupportedError` if there is none.
    """
    first = step.layer.operators[0].inputs[0]
    if first == OMITTED:
        raise UnsupportedError(f"{step.layer.title()} is a view of no input")
    return step.names[step.layer.outputs[0]], step.names[first]


def last_readers(program: Program) -> dict[int, list[str]]:
    """By step, the values that no later step needs. Views live as long as what they view."""
    root: dict[str, str] = {}
    last: dict[str, int] = {}
    for index, step in enumerate(program.steps):
        for name, of in _in_memory_of_others(step):
            root[name] = root.get(of, of)
        for name in step.names:
            last[root.get(name, name)] = index
    kept = {root.get(name, name) for name in program.outputs}
    written = {step.names[index] for step in program.steps for index in step.layer.outputs}
    # The model's inputs stay, for its next run.
    kept |= last.keys() - written
    leaving: dict[int, list[str]] = {}
    for name in _all_names(program.steps):
        origin = root.get(name, name)
        if origin not in kept:
            leaving.setdefault(last[origin], []).append(name)
    return leaving


def _in_memory_of_others(step: ProgramStep) -> Iterator[tuple[str, str]]:
    """The names of values that a step leaves in the memory of others, and of these."""
    operator = step.layer.operators[0]
    if step.choice is None or step.choice.library == NO_LIBRARY:
        yield viewed(step)
    elif operator.op_type in (GROUPED, PAGED):
        for before, after in CACHES:
            yield step.names[operator.outputs[after]], step.names[operator.inputs[before]]


def _all_names(steps: Iterable[ProgramStep]) -> Iterator[str]:
    return iter(dict.fromkeys(name for step in steps for name in step.names))
