"""Element types: the float of a precision, or an integer or bool as the layer has it.

An empty name stands for the float: which type it has in memory is the precision's matter.
"""

from benanza_runner.cuda.unsupported import UnsupportedError

FLOATS = frozenset(("float32", "float16", "bfloat16"))

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
}
"""C's types of elements, by ONNX's names, of all but floats."""

INDEX = "index"
"""The element type of an operand that lies nowhere: each element is its own index."""


def element(dtype: str) -> str:
    """The element type for ONNX's name of one. Raises `UnsupportedError`."""
    if dtype in FLOATS:
        return ""
    if dtype not in IN_MEMORY:
        raise UnsupportedError(f"tensors of {dtype} are not done yet")
    return dtype


def variable(name: str) -> str:
    """The type of C in which elements of this type are computed."""
    if not name:
        return "float"
    return "int" if name == "bool" else "long long"
