"""A published model's file, on this machine."""

import errno
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_ingest.reading.allowed import Allowed
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import ModelPublished

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def model_file(published: ModelPublished, limits: Limits, allowed: Allowed) -> Iterator[Path]:
    """The model's file in a folder for temporary files, until the block ends.

    Raises `ModelError` as `write_model` does.
    """
    with ExitStack() as stack:
        with _keeping():
            # What has run in the block counts, also where its folder stays.
            folder = TemporaryDirectory(prefix="benanza-agent-", ignore_cleanup_errors=True)
            path = Path(stack.enter_context(folder)) / "model.onnx"
        write_model(published, path, limits, allowed)
        yield path


def write_model(published: ModelPublished, path: Path, limits: Limits, allowed: Allowed) -> None:
    """Writes all of the model's file there, from the event or from where it is `allowed` to be.

    Raises `ModelError` if it can't be had from here, if its SHA-256 is another one, or if it can't
    be written.
    """
    with _keeping(), path.open("wb") as file:

        def write(part: bytes) -> None:
            with _keeping():  # else it looks as if what is read had failed
                file.write(part)

        if published.content is not None:
            content_of(published, limits, copy=write)
            return
        try:
            fetch(published.uri, limits, published.sha256, allowed, copy=write)
        except UnfetchedError as error:
            raise ModelError(
                f"where the agent runs, {error.problem}; make it reachable from there"
            ) from error


@contextmanager
def _keeping() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        is_full = error.errno in _FULL
        mend = "make room in its folder for temporary files" if is_full else "mend that"
        raise ModelError(
            f"the agent's machine can't keep the model's file: {error}; {mend}, and ask again"
        ) from error
