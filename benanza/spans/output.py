"""Where traces go: into a file for Perfetto, and to a collector."""

from collections.abc import Mapping
from pathlib import Path

from benanza.spans.exporting import export_asked, is_on
from benanza.spans.perfetto import perfetto
from benanza.spans.trace import Trace
from benanza.writable import check_writable, unwritable


class TraceOutput:
    """Writes traces into the file, if one is named, and exports them if the environment asks for
    that. Raises `BenanzaError` if the file can't be written.
    """

    def __init__(self, path: Path | None, environ: Mapping[str, str]) -> None:
        if path is not None:
            check_writable(path)
        self._path = path
        self._environ = environ
        self.told: list[Trace] = []

    def is_asked(self) -> bool:
        """Whether a trace goes anywhere."""
        return self._path is not None or is_on(self._environ)

    def tell(self, trace: Trace) -> None:
        """Writes the file. Raises `BenanzaError` if that can't be."""
        self.told.append(trace)
        if self._path is not None:
            try:
                self._path.write_bytes(perfetto(trace))
            except OSError as error:
                raise unwritable(self._path, error) from error

    def export(self) -> None:
        """Exports what was told. Raises `BenanzaError` as `export_asked` does."""
        for trace in self.told:
            export_asked(trace, self._environ)
