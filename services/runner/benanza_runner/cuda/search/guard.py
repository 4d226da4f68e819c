"""Variants that end the process, or hang, are not tried a second time.

Before a variant runs, its name is written into a file, the journal; afterwards it is removed. If
the next process finds a name there, that variant ended the process before, and is blocklisted.
"""

import faulthandler
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from benanza_runner.reasons import short_reason

RUNNING = ">"

BLOCKLISTED = "it ended the process that ran it, or took too long"
"""Why a blocklisted variant has no time."""


class Guard:
    """Watches variants in this process, and knows those that ended an earlier one.

    `journal` is the file; with None, nothing is remembered. A variant that takes longer than
    `seconds` ends this process. `synchronise` waits for the device. It raises the error of a kernel
    that nobody has waited for yet, and each time again after an error that lasts. `device`, if
    given, is entered by what uses the device.
    """

    def __init__(
        self,
        journal: Path | None,
        seconds: float,
        synchronise: Callable[[], object],
        device: AbstractContextManager[object] | None = None,
    ) -> None:
        self._device = device or nullcontext()
        self._journal = journal
        self._seconds = seconds
        self._synchronise = synchronise
        self._blocklisted: list[str] = []
        if journal is not None and journal.exists():
            lines = journal.read_text(encoding="utf-8").splitlines()
            self._blocklisted = [line.removeprefix(RUNNING) for line in lines]
            self._write()

    def blocklisted(self, name: str) -> bool:
        """Whether this variant ended a process."""
        return name in self._blocklisted

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """As `watching`, with the device to itself. The time until it is free doesn't count."""
        with self._device, self.watching(name):
            yield

    @contextmanager
    def watching(self, name: str) -> Iterator[None]:
        """Runs the variant of this name, a line of text, within the `with` statement.

        A variant that raises an exception is not blocklisted, unless the error lasts: then this
        process ends.
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
        """Ends this process if `error` left the device unusable, as an illegal access does.

        Raises `SystemExit` with the lasting error's text.
        """
        try:
            self._synchronise()
        except Exception as lasting:  # noqa: BLE001  # whatever it is, the device is unusable
            raise SystemExit(short_reason(str(lasting))) from error

    def _write(self, running: str = "") -> None:
        if self._journal is not None:
            known = "".join(f"{name}\n" for name in self._blocklisted)
            self._journal.write_text(known + running, encoding="utf-8")
