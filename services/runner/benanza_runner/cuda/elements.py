"""Element types: the float of the precision, or an integer, bool or float8 as the layer has it.

An empty name stands for the float, whose type in memory follows from the precision. Elements of
float8e4m3fn are moved as their codes, which are integers: only what quantises, dequantises, casts
or multiplies them takes them for numbers.
"""

from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.element_types import FLOATS

FLOAT8 = "float8e4m3fn"

IN_MEMORY = {
    "bool": "unsigned char",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned",
    "int64": "long long",
    "uint64": "unsigned long long",
    FLOAT8: "unsigned char",
}
"""The types of C in memory, by ONNX's names, of all elements but floats of the precision."""

_INSTEAD = {
    "float64": "convert the model to float32",
    "complex64": "export the model with real numbers",
    "complex128": "export the model with real numbers",
}
"""What to do about other types than floats and integers of few bits."""

INDEX = "index"
"""The element type of an operand that is not in memory: each element is its own index."""


def element(dtype: str) -> str:
    """The element type for ONNX's name of a type. Raises `UnsupportedError`."""
    if dtype in FLOATS:
        return ""
    if dtype not in IN_MEMORY:
        instead = _INSTEAD.get(dtype, "quantise to int8 or float8e4m3fn")
        raise UnsupportedError(f"tensors of {dtype} are not supported yet: {instead}")
    return dtype


def variable(name: str) -> str:
    """The type of C in which elements of the named type are computed, and codes of float8 held."""
    if not name:
        return "float"
    return "int" if name in ("bool", FLOAT8) else "long long"
