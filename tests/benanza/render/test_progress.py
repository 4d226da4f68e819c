"""Progress: a bar on a terminal, nothing in a pipe."""

import io

import pytest

from benanza.render.progress import TerminalProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO) -> str:
    with TerminalProgress(stream) as progress:
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


def test_a_pipe_gets_nothing() -> None:
    assert told(io.StringIO()) == ""
