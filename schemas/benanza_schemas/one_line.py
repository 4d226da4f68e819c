"""Makes one line of what strangers wrote: names from models and events stand in errors and logs."""

import re

MOST_CHARACTERS = 2000

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_LONG_WORD = re.compile(r"\S{300,}")


def one_line(text: str) -> str:
    """The text with control characters escaped, and without the middle of what is very long."""
    text = _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)
    text = _LONG_WORD.sub(lambda match: f"{match[0][:200]}…{match[0][-40:]}", text)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[: MOST_CHARACTERS - 500]} … {text[-490:]}"
