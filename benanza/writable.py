"""Whether a file can be written, asked before the work whose result goes into it."""

from pathlib import Path

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


def unwritable(path: Path, error: OSError) -> BenanzaError:
    """What a user is told of a file that can't be written."""
    return BenanzaError(f"can't write {path} ({error.strerror}); name another file")
