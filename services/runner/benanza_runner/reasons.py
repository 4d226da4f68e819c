"""Reasons for people: one line of bounded length."""

import re

MAX_CHARACTERS = 500

_CODE = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : ")
_WHILE_RUNNING = re.compile(r"^.*Status Message: ", re.DOTALL)
_SOURCE = re.compile(r"^/\S+:\d+ [^()]*\([^()]*\)(?: const)? ")


def short_reason(text: str) -> str:
    """A library's message in one line of at most `MAX_CHARACTERS` characters.

    ONNX Runtime's codes, the names of its nodes (which are ours) and places in its source are left
    out.
    """
    line = _WHILE_RUNNING.sub("", _CODE.sub("", text))
    line = _SOURCE.sub("", " ".join(line.split()))
    return line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 1] + "…"
