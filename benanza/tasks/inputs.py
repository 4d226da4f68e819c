"""What the inputs of a task hold, in words and as programs that draw it."""

import numpy as np

from benanza.tasks.references.operation import NoReferenceError
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.draws import Draw
from benanza_runner.onnx_layers.random_values import wanted
from benanza_runner.submitted.signature import KernelOperand, Signature
from benanza_schemas.layer import Layer

SEED = 20_200_218

MOST_ELEMENTS = 4096
"""So many elements that a rule fixes may be written out."""

_NUMPY = f'''

def inputs(seed={SEED}):
    """Inputs as those that a solution is tried with, whose seeds nobody knows."""
    random = np.random.default_rng(seed)

    def drawn(low, high, signed, dtype, shape):
        if np.dtype(dtype).kind in "iub" and dtype != "bool":
            return random.integers(int(low), int(high) + 1, shape).astype(dtype)
        if dtype == "bool":
            return random.integers(0, 2, shape).astype(dtype)
        numbers = random.uniform(low, high, shape)
        return (numbers * random.choice((-1, 1), shape) if signed else numbers).astype(dtype)

    return [
{{draws}}
    ]


if __name__ == "__main__":
    results = run(*inputs())
    for result in results if isinstance(results, tuple) else (results,):
        print(result.dtype, result.shape, float(np.abs(result.astype(np.float64)).mean()))
'''

_TORCH = '''

def inputs(axes_and_scalars, device):
    """Inputs as those that a solution is tried with."""

    def drawn(low, high, signed, dtype, shape):
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, device=device).to(dtype)
        if not dtype.is_floating_point:
            return torch.randint(int(low), int(high) + 1, shape, device=device).to(dtype)
        numbers = low + (high - low) * torch.rand(shape, device=device)
        signs = torch.randint(0, 2, shape, device=device) * 2 - 1
        return (numbers * signs if signed else numbers).to(dtype)

    return {{
{draws}
    }}
'''


def holds(layer: Layer, operand: KernelOperand) -> str:
    """What an input holds, in words."""
    found = wanted(layer, operand.index)
    if not isinstance(found, Draw):
        return "what its operator asks for"
    if operand.dtype == "bool":
        return "true or false"
    if "int" in operand.dtype:
        return f"whole numbers from {int(found.low)} to {int(found.high)}"
    sign = " of either sign" if found.signed else ""
    return f"uniform in [{found.low:g}, {found.high:g}]{sign}"


def is_any_number(layer: Layer, operand: KernelOperand) -> bool:
    """Whether an input may hold what a normal distribution gives: no rule keeps it in a range."""
    found = wanted(layer, operand.index)
    return isinstance(found, Draw) and found.signed and "float" in operand.dtype


def drawn_by_numpy(layer: Layer, signature: Signature) -> str:
    """The function `inputs` of a reference in NumPy. Raises `NoReferenceError` where an input has
    too many elements that are fixed.
    """
    lines = []
    for operand in signature.inputs:
        dtype = "ml_dtypes.bfloat16" if operand.dtype == "bfloat16" else repr(operand.dtype)
        found = wanted(layer, operand.index)
        if isinstance(found, Draw):
            numbers = f"{found.low!r}, {found.high!r}, {found.signed}"
            lines.append(f"        drawn({numbers}, {dtype}, {operand.shape}),")
        else:
            lines.append(
                f"        np.resize(np.array({_listed(found)}), {operand.shape}).astype({dtype}),"
            )
    return _NUMPY.format(draws="\n".join(lines))


def drawn_by_torch(layer: Layer, signature: Signature) -> str:
    """The function `inputs` of a reference in PyTorch, which returns them by name on a device.
    Raises as `drawn_by_numpy`.
    """
    lines = []
    for operand in signature.inputs:
        dtype = f"torch.{operand.dtype}"
        found = wanted(layer, operand.index)
        if isinstance(found, Draw):
            numbers = f"{found.low!r}, {found.high!r}, {found.signed}"
            made = f"drawn({numbers}, {dtype}, {operand.shape})"
        else:
            whole = np.resize(found, operand.shape)
            made = f"torch.tensor({_listed(whole)}, dtype={dtype}, device=device)"
            made += f".reshape({operand.shape})"
        lines.append(f'        "{operand.name}": {made},')
    return _TORCH.format(draws="\n".join(lines))


def _listed(array: Array) -> str:
    if array.size > MOST_ELEMENTS:
        raise NoReferenceError(f"an input has {array.size:,} elements that are fixed")
    return repr(array.tolist())
