"""What strangers wrote can't make further lines of an error, nor a very long one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.one_line import MOST_CHARACTERS, one_line


def test_plain_text_stays() -> None:
    text = "node 'a/b' (Conv) has 3 inputs, and takes 2 – export it again: " + "x" * 299
    assert one_line(text) == text


def test_control_characters_are_escaped() -> None:
    assert one_line("a\nb\x1b[2J\u2028c") == "a\\nb\\x1b[2J\\u2028c"


def test_of_a_long_name_the_ends_are_kept_and_what_is_said_of_it() -> None:
    said = one_line(f"value '{'x' * 5000}' is written twice; export the model again")
    assert len(said) < 400
    assert said.endswith("x' is written twice; export the model again")


@given(st.text(max_size=50).map(lambda text: text * 100))
def test_it_is_one_printable_line(text: str) -> None:
    said = one_line(text)
    assert len(said.splitlines()) <= 1
    assert len(said) <= MOST_CHARACTERS
    said.encode()


def test_a_field_of_an_event_can_not_forge_a_line_of_the_log() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(b"\x82\xa4type\xa9LayerSeen\xa6a\nb\x1bcd\x01")
    assert len(str(caught.value).splitlines()) == 1
    assert "\x1b" not in str(caught.value)
