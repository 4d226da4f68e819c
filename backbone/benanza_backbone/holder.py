"""Which process has a lock: written into the lock's file, and said to whoever can't have it."""

import os
from contextlib import suppress
from pathlib import Path

PROGRAM = "benanza"
MOST_CHARACTERS = 60


def write_holder(lock: Path) -> None:
    """Says that this process has the lock of this file. Raises `OSError` as writing does."""
    lock.write_text(f"{os.getpid()}\n")


def holder(lock: Path) -> str:
    """The process that has the lock, for people: its id, and its command where it is ours and can
    be seen from here, as `process 17 (benanza run zoo:resnet50)`. One that has ended left its id
    behind, and another has the lock.
    """
    import psutil  # where somebody has it already

    written = ""
    with suppress(OSError):
        written = lock.read_text(errors="replace").strip()
    if not written.isdecimal():
        return "another process"
    command: list[str] = []
    try:
        command = psutil.Process(int(written)).cmdline()
    except (psutil.NoSuchProcess, OverflowError):
        return "another process"
    except psutil.Error:
        pass
    ours = [number for number, word in enumerate(command) if Path(word).name == PROGRAM]
    if not ours:
        return f"process {written}"
    shown = " ".join([PROGRAM, *command[ours[0] + 1 :]])
    if len(shown) > MOST_CHARACTERS:
        shown = f"{shown[: MOST_CHARACTERS - 1]}…"
    return f"process {written} ({shown})"
