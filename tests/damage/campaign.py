"""A campaign: copies a folder, damages the copy, opens it as a user does, and judges the answer."""

import logging
import os
import shutil
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import NamedTuple

from benanza_backbone.errors import BenanzaError
from benanza_backbone.log import configure
from tests.damage.damages import DAMAGES, WEIGHTS
from tests.damage.folders import Folders, answers, folders_in

PATIENCE_S = 120

UNSEEN = "the same"
REFILLED = "refilled"
REFILLED_LOUDLY = "refilled, and the engine says more"
"""After a crash it has to be asked itself, and prints why it can't start."""

REFUSED = "refused"
FINE = (UNSEEN, REFILLED, REFILLED_LOUDLY, REFUSED)


class Try(NamedTuple):
    """What was done to a copy, and what came of it: one of `FINE`, or what went wrong."""

    number: int
    kind: str
    what: str
    end: str
    said: str


class Tally(NamedTuple):
    """How many tries of each kind ended in which way, and those that went wrong."""

    ends: Counter[tuple[str, str]]
    wrong: list[Try]
    cpu_s: float


class Answer(NamedTuple):
    """What a process was told that opened a folder: how it ended, the answers or the error, and
    what it said on standard error."""

    end: str
    said: str
    lines: str


def campaign(seed: int, numbers: Iterable[int], seconds: float, root: Path) -> Tally:
    """Does the tries of these numbers, until the seconds are over. One can be made again by its
    seed and number."""
    import_module("clickhouse_connect")  # Else each child does; chDB can't be forked.
    folders = folders_in(root)
    whole = {base: opened(base, root, lambda _: "")[1] for base in (folders.good, folders.crashed)}
    assert {answer.end for answer in whole.values()} == {"answered"}, whole
    began, deadline = os.times(), time.monotonic() + seconds
    tries = [
        attempt(Random(f"{seed} {n}"), n, folders, root, whole)
        for n in takewhile(lambda _: time.monotonic() < deadline, numbers)
    ]
    wrong = [found for found in tries if found.end not in FINE]
    cpu_s = sum(os.times()[:4]) - sum(began[:4])
    return Tally(Counter((found.kind, found.end) for found in tries), wrong, cpu_s)


def attempt(
    random: Random, number: int, folders: Folders, root: Path, whole: dict[Path, Answer]
) -> Try:
    """Damages a copy of the good folder, or one time in five of the crashed one."""
    base = folders.crashed if random.random() < 0.2 else folders.good
    damage = random.choices(DAMAGES, WEIGHTS)[0]
    what, answer = opened(base, root, lambda copy: damage(random, copy, folders))
    end, said = answer.end, answer.said
    if end == "answered":
        end = _judged(said == whole[base].said, answer.lines)
        said = f"{said[:1000]} {answer.lines}"
    return Try(number, f"{damage.__name__}, {base.name}", what, end, said)


def opened(base: Path, root: Path, damage: Callable[[Path], str]) -> tuple[str, Answer]:
    """Opens a damaged copy in a process of its own: the engine has one folder in a process."""
    copy, said, lines = (root / name for name in ("copy", "said", "lines"))
    shutil.copytree(base, copy, symlinks=True)
    try:
        what = damage(copy)
        said.write_text("")
        child = os.fork()
        if not child:
            _answer(copy, said, lines)
        status = _waited(child)
    finally:
        for each in root.glob("copy*"):
            shutil.rmtree(each)
    end, _, text = said.read_text().partition("\n")
    return what, Answer(end if end and not status else f"DIED {status}", text, lines.read_text())


def _judged(same: bool, lines: str) -> str:
    if not same:
        return "OTHER ANSWERS"
    if not lines:
        return UNSEEN
    if lines.count("made anew") != 1 or "Traceback" in lines:
        return "SAYS MORE"
    return REFILLED if lines.count("\n") == 1 else REFILLED_LOUDLY


def _answer(folder: Path, said: Path, lines: Path) -> None:
    """In the child; never returns."""
    with lines.open("w") as file, redirect_stderr(file):
        os.dup2(file.fileno(), 2)
        configure("text", logging.ERROR)
        try:
            text = f"answered\n{answers(folder)}"
        except BenanzaError as error:
            text = f"{REFUSED if chr(10) not in str(error) else 'SEVERAL LINES'}\n{error}"
        except BaseException:  # noqa: BLE001  whatever it is, it is a finding
            text = f"FAILED\n{traceback.format_exc()}"
        said.write_text(text)
    os._exit(0)


def _waited(child: int) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]
