"""Refuses subjects of commits that are longer than 72 characters or end with a full stop.

    python -m tests.release.subjects          # of the commits that are new
    python -m tests.release.subjects FILE     # of the message in a file, as a commit-msg hook

New are those since the branch left `origin/main`. Where that isn't known, or there are none, the
last 20 count.
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

MOST_CHARACTERS = 72

LAST = 20
"""So many commits are looked at where the new ones aren't known."""


def wrong(subjects: Iterable[str]) -> list[str]:
    """A line for each subject that breaks a rule."""
    found = []
    for subject in subjects:
        if len(subject) > MOST_CHARACTERS:
            found.append(f"{len(subject)} characters, at most {MOST_CHARACTERS}: {subject}")
        if subject.endswith("."):
            found.append(f"ends with a full stop: {subject}")
    return found


def subject_of(message: Path) -> str:
    """The first line of a message that Git would keep, without comments."""
    with message.open("rb") as file:
        return _git(["stripspace", "--strip-comments"], Path(), file).partition("\n")[0]


def new_subjects(repository: Path) -> list[str]:
    """The subjects of the new commits; merges have none of their own."""
    listed = ("log", "--no-merges", "--format=%s")
    try:
        base = _git(["merge-base", "origin/main", "HEAD"], repository).strip()
        found = _git([*listed, f"{base}..HEAD"], repository)
    except subprocess.CalledProcessError:
        found = ""
    return (found or _git([*listed, f"--max-count={LAST}"], repository)).splitlines()


def main(arguments: Sequence[str]) -> None:
    """Raises `SystemExit` with the lines that say what is wrong."""
    subjects = [subject_of(Path(arguments[0]))] if arguments else new_subjects(Path())
    if found := wrong(subjects):
        raise SystemExit("\n".join(found))


def _git(arguments: Sequence[str], repository: Path, stdin: IO[bytes] | None = None) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, stdin=stdin, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main(sys.argv[1:])
