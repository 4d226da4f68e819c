"""Whether a submitted kernel returns its outputs, and whether they are those that are asked for."""

from collections.abc import Callable, Sequence
from typing import Any

from benanza_runner.submitted.working.sources import KernelError, parameters_of


def returns(run: Callable[..., object], inputs: int, outputs: int) -> bool:
    """Whether it takes the inputs alone and returns the outputs, rather than take both. Raises
    `KernelError` if it takes neither number of arrays.
    """
    count = parameters_of(run)
    if count == inputs + outputs:
        return False
    if count != inputs:
        raise KernelError(
            f"its `run` takes {count} arrays; there are {inputs} inputs"
            f" and {outputs} outputs, which it may leave out and return"
        )
    return True


def listed(returned: Any, outputs: int) -> Sequence[Any]:
    """What it returned, one for each output. Raises `KernelError` if there are more or fewer."""
    results = returned if isinstance(returned, tuple | list) else (returned,)
    if len(results) != outputs:
        raise KernelError(f"it returns {len(results)} arrays; there are {outputs} outputs")
    return results


def check_form(result: Any, output: Any) -> None:
    """Raises `KernelError` if an array isn't of the shape and type of the output."""
    if result.shape != output.shape or result.dtype != output.dtype:
        raise KernelError(
            f"it returns {result.dtype} of shape {result.shape} where "
            f"{output.dtype} of shape {output.shape} is asked for"
        )
