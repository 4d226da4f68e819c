"""A shell in which a reader types what the pages show."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from benanza_backbone.closing import Closing

PATIENCE_S = 300.0


def _ready(pipe: IO[bytes], patience_s: float) -> bool:
    """Whether there is something to read, or the end. `select.select` can't take pipes above 1,023,
    which a process of many tests has.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        return bool(selector.select(patience_s))


class Shell(Closing):
    """A bash of its own. What is started in the background goes on until the shell is closed.

    Blocks, and what they print, are kept in a folder.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], kept: Path) -> None:
        self._kept = kept
        self._blocks: list[Path] = []
        self._bash = subprocess.Popen(
            ["bash", "-s"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        # Nothing goes on without the shell, nor the shell without who types.
        self._type("trap 'kill -KILL 0' EXIT")

    def run(self, lines: str, patience_s: float = PATIENCE_S) -> str:
        """What the lines print to standard output. Fails if one of them does, or takes too long."""
        block = self._kept / f"{len(list(self._kept.glob('*.sh'))):02}.sh"
        block.write_text(f"set -e\n{lines}\nset +e\n", "utf-8")
        self._blocks.append(block)
        output, errors = block.with_suffix(".out"), block.with_suffix(".err")
        began = time.monotonic()
        self._type(f"source {block} </dev/null >{output} 2>{errors}; echo")
        assert self._bash.stdout
        answers = _ready(self._bash.stdout, patience_s)
        ended = answers and self._bash.stdout.readline()
        with block.open("a") as file:
            file.write(f"# {time.monotonic() - began:.1f} s\n")
        assert ended, f"{'failed' if answers else 'takes too long'}:\n{self.said()}"
        return output.read_text("utf-8")

    def _type(self, line: str) -> None:
        assert self._bash.stdin
        self._bash.stdin.write(f"{line}\n".encode())
        self._bash.stdin.flush()

    def said(self) -> str:
        """All that was typed here, and what it and what it started have said."""
        texts = []
        for block in self._blocks:
            for file in (block, block.with_suffix(".out"), block.with_suffix(".err")):
                texts.append(file.read_text("utf-8", errors="replace"))
        return "\n".join(texts)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait()
        for pipe in (self._bash.stdin, self._bash.stdout):
            if pipe:
                pipe.close()
