"""Arrays as a file of safetensors: the length of a header, the header as JSON, and the elements.

https://huggingface.co/docs/safetensors has the format.
"""

from collections.abc import Mapping
from pathlib import Path
from struct import pack

import msgspec
import numpy as np

from benanza_runner.arrays import Array

_NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
}  # fmt: skip


def write_safetensors(path: Path, arrays: Mapping[str, Array]) -> None:
    """Writes these arrays by name, and the folder if it isn't there."""
    header, end = {}, 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    described = msgspec.json.encode(header)
    described += b" " * (-len(described) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(pack("<Q", len(described)) + described)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())
