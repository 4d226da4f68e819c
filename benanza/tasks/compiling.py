"""Makes shared libraries of kernels in C and CUDA C++, with the compilers that are installed."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benanza_backbone.errors import BenanzaError

COMPILERS = {
    ".c": ("cc", "-O3", "-march=native", "-shared", "-fPIC", "-lm"),
    ".cu": ("nvcc", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC"),
}
"""By how a file of a kernel ends, the compiler and its options."""

COMPILING_S = 120.0
"""What includes without end, such as `/dev/zero`, is given up after so long."""


@contextmanager
def compiled(kernel: Path) -> Iterator[Path]:
    """The kernel itself, or what a compiler makes of its source while the block lasts. Raises
    `BenanzaError` if it can't be compiled.
    """
    if kernel.suffix not in COMPILERS:
        yield kernel
        return
    compiler, *options = COMPILERS[kernel.suffix]
    if not shutil.which(compiler):
        raise BenanzaError(f"there is no compiler {compiler}; give a shared library")
    with tempfile.TemporaryDirectory(prefix="benanza-") as folder:
        library = Path(folder) / "kernel.so"
        command = [compiler, str(kernel), "-o", str(library), *options]
        try:
            made = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMPILING_S,
            )
        except subprocess.TimeoutExpired:
            raise BenanzaError(
                f"{kernel.name} isn't compiled within {COMPILING_S:g} s; compile it yourself, and "
                "give the shared library"
            ) from None
        if made.returncode:
            lines = made.stderr.strip().splitlines() or ["it says nothing"]
            error = next((line for line in lines if "error" in line), lines[-1])
            raise BenanzaError(f"{kernel.name} can't be compiled: {error}")
        yield library
