"""Progress: a bar on a terminal, a line now and then in a pipe."""

import io
import os
import time
from contextlib import suppress

import pytest

from benanza.render.progress import PipeProgress, TerminalProgress, progress_on


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO) -> str:
    with progress_on(stream) as progress:
        progress.stage("ingesting models", 2)
        progress.advance()
        progress.stage("benchmarking layers", 3)
        progress.advance(2)
    return stream.getvalue()


def test_a_terminal_gets_a_bar_for_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    text = told(Terminal())
    assert "benchmarking layers" in text
    assert "2/3" in text
    assert "ingesting" not in text.rpartition("benchmarking")[2]


def test_a_pipe_gets_nothing_of_what_takes_no_ten_seconds() -> None:
    assert told(io.StringIO()) == ""


def test_a_pipe_gets_lines_though_nothing_is_done() -> None:
    stream = io.StringIO()
    with PipeProgress(stream, every_s=0.05) as progress:
        time.sleep(0.12)
        assert stream.getvalue() == ""  # No stage has begun.
        progress.stage("benchmarking\rlayers", 2000)
        progress.advance(1200)
        deadline = time.monotonic() + 10
        while stream.getvalue().count("\n") < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    lines = stream.getvalue().splitlines()
    assert set(lines) == {"benchmarking\\rlayers: 1,200 of 2,000"}
    time.sleep(0.12)
    assert stream.getvalue().splitlines() == lines


def test_a_reader_that_has_gone_ends_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    # What it has written into the buffer can't be written when it is closed.
    with suppress(BrokenPipeError), os.fdopen(writer, "w") as stream:
        with PipeProgress(stream, every_s=0.01) as progress:
            progress.stage("benchmarking layers", 1)
            time.sleep(0.1)
        assert isinstance(progress_on(stream), PipeProgress)
        assert isinstance(progress_on(Terminal()), TerminalProgress)
