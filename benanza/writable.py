"""Whether a file can be written, asked before the work whose result goes into it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benanza_backbone.errors import BenanzaError


def check_writable(path: Path) -> None:
    """Raises `BenanzaError` if there can't be such a file, which is as it was then."""
    new = not path.exists()
    try:
        path.open("ab").close()
        if new:
            path.unlink()
    except OSError as error:
        raise unwritable(path, error) from error


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of this one at the end of the `with` block, unless it fails.

    What is no plain file, such as a pipe, is written as it is. Raises `OSError`.
    """
    place = path.resolve()
    if place.exists() and not place.is_file():
        with place.open("wb") as file:
            yield file
        return
    part = place.with_name(f"{place.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def unwritable(path: Path | str, error: OSError) -> BenanzaError:
    """What a user is told of a file that can't be written."""
    return BenanzaError(f"can't write {path} ({error.strerror}); name another file")
