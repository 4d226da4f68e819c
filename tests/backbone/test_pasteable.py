"""A shell reads what is shown as the words that were meant."""

import os
import subprocess

from hypothesis import example, given
from hypothesis import strategies as st

from benanza_backbone.pasteable import pasteable

WORDS = st.lists(st.binary().map(lambda each: os.fsdecode(each.replace(b"\0", b""))), max_size=4)


@given(WORDS)
@example(["past_sequence_length + sequence_length=N", "batch _size=N", "it's", "$HOME", "a;b", ""])
@example(["bad\udcff0.onnx", "two\nlines", "\x1b[31m", "tab\tand \\ and '", "naïve"])
def test_a_shell_reads_the_words_from_one_line(words: list[str]) -> None:
    line = pasteable(*words)
    assert line.isprintable()
    read = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line} end"], capture_output=True, check=True
    )
    assert read.stdout == b"".join(os.fsencode(word) + b"\0" for word in [*words, "end"])


def test_what_needs_no_quotes_has_none() -> None:
    assert pasteable("benanza", "run", "zoo:squeezenet") == "benanza run zoo:squeezenet"


def test_bytes_that_are_no_text_are_shown() -> None:
    assert pasteable("bad\udcff.onnx") == r"$'bad\377.onnx'"
