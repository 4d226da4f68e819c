"""Variants that end the process, or hang, are not tried a second time.

Before a variant is run its name goes into a file, from which it is taken when it is done. A
name that the next process finds there ended the one before.
"""

import faulthandler
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benanza_runner.reasons import one_line

RUNNING = ">"


class Guard:
    """Watches variants in this process and knows those that ended an earlier one.

    `journal` is the file, if what happens should be remembered. What takes longer than
    `seconds` ends this process. `synchronise` waits for the device: it raises the errors after
    which nothing runs any more, and what a kernel did that nobody has waited for yet.
    """

    def __init__(
        self, journal: Path | None, seconds: float, synchronise: Callable[[], object]
    ) -> None:
        self._journal = journal
        self._seconds = seconds
        self._synchronise = synchronise
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

        Whatever it raises it has survived, but for an error that lasts, which ends this process.
        """
        self._write(f"{RUNNING}{name}\n")
        faulthandler.dump_traceback_later(self._seconds, exit=True)
        survived = True
        try:
            yield
        except SystemExit:
            survived = False
            raise
        except Exception as error:
            survived = False
            self.end_if_lasting(error)
            survived = True
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
            if survived:
                self._write()

    def end_if_lasting(self, error: Exception) -> None:
        """Ends this process after an error of CUDA's after which nothing runs any more in it."""
        try:
            self._synchronise()
        except Exception as lasting:  # noqa: BLE001  # whatever it is, the device is of no use now
            raise SystemExit(one_line(str(lasting))) from error

    def _write(self, running: str = "") -> None:
        if self._journal is not None:
            known = "".join(f"{name}\n" for name in self._condemned)
            self._journal.write_text(known + running, encoding="utf-8")
