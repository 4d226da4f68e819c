"""The commit that the program was built from."""

import subprocess
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def built_from() -> str:
    """The commit that was put into what is installed, or is checked out around it.

    Empty where neither is known, as in an image that was built without Git.
    """
    written = _PACKAGE / "commit.txt"
    if written.is_file():
        return written.read_text("ascii").strip()
    return checked_out(_PACKAGE.parent)


def checked_out(root: Path) -> str:
    """The commit of a checkout, twelve digits and `-dirty` if tracked files differ from it.

    Empty if the folder is no checkout's root, or there is no Git.
    """
    if not (root / ".git").exists():
        return ""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        described = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return described.stdout.strip()
