"""Where traces go: into a file for Perfetto, and to a collector."""

from collections.abc import Mapping
from pathlib import Path

from benanza.spans.exporting import export_asked, is_on
from benanza.spans.perfetto import perfetto
from benanza.spans.trace import SpanTrace
from benanza.writable import check_writable, unwritable


class TraceOutput:
    """Takes traces for the file, if one is named, and for a collector, if the environment asks for
    that. Raises `BenanzaError` if the file can't be written.
    """

    def __init__(self, path: Path | None, environ: Mapping[str, str]) -> None:
        if path is not None:
            check_writable(path)
        self.path = path
        self._environ = environ
        self.told: list[SpanTrace] = []

    def is_asked(self) -> bool:
        """Whether a trace goes anywhere."""
        return self.path is not None or is_on(self._environ)

    def tell(self, trace: SpanTrace) -> None:
        """Keeps the trace for `write` and `export`."""
        self.told.append(trace)

    def write(self) -> None:
        """Writes the file, with all that was told. One of that name stays until all is there.
        Raises `BenanzaError` if that can't be.
        """
        if self.path is None or not self.told:
            return
        part = self.path.with_name(f"{self.path.name}.part")
        content = perfetto(self.told)
        try:
            if self.path.exists() and not self.path.is_file():  # such as /dev/stdout
                self.path.write_bytes(content)
            else:
                part.write_bytes(content)
                part.replace(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def export(self) -> None:
        """Exports what was told. Raises `BenanzaError` as `export_asked` does."""
        for trace in self.told:
            export_asked(trace, self._environ)
