"""Variants that end the process, or hang, are not tried a second time.

Before a variant is run its name goes into a file, from which it is taken when it is done. A
name that the next process finds there ended the one before.
"""

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benanza_runner.reasons import one_line

RUNNING = ">"

FATAL = (
    "cudaErrorIllegalAddress",
    "cudaErrorMisalignedAddress",
    "cudaErrorLaunchFailure",
    "cudaErrorUnknown",
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
    "CUDA_ERROR_LAUNCH_FAILED",
)
"""Errors from which a process doesn't recover, as CuPy's messages name them."""


class Guard:
    """Watches variants in this process and knows those that ended an earlier one.

    `journal` is the file, if what happens should be remembered. What takes longer than
    `seconds` ends this process.
    """

    def __init__(self, journal: Path | None, seconds: float) -> None:
        self._journal = journal
        self._seconds = seconds
        self._condemned: list[str] = []
        if journal is not None and journal.exists():
            lines = journal.read_text(encoding="utf-8").splitlines()
            self._condemned = [line.removeprefix(RUNNING) for line in lines]
            self._write()

    def condemned(self, name: str) -> bool:
        """Whether this variant ended a process."""
        return name in self._condemned

    @contextmanager
    def watching(self, name: str) -> Iterator[None]:
        """Runs the variant of this name, a line of text, within the `with` statement.

        Whatever it raises but `SystemExit`, which ends this process, it has survived.
        """
        self._write(f"{RUNNING}{name}\n")
        faulthandler.dump_traceback_later(self._seconds, exit=True)
        survived = True
        try:
            yield
        except SystemExit:
            survived = False
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
            if survived:
                self._write()

    def _write(self, running: str = "") -> None:
        if self._journal is not None:
            known = "".join(f"{name}\n" for name in self._condemned)
            self._journal.write_text(known + running, encoding="utf-8")


def end_if_fatal(error: Exception) -> None:
    """Ends this process after an error of CUDA's after which nothing runs any more in it."""
    if any(name in str(error) for name in FATAL):
        raise SystemExit(one_line(str(error)))
