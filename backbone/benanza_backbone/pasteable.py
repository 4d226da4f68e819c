"""Commands in messages, as a user can paste them into a shell."""

import os
import shlex


def pasteable(*words: str) -> str:
    """The words of a command, each quoted where a shell would read it as something else.

    What can't be shown in a line of text, such as a line break or a byte that is no UTF-8, is
    written as in `$'a\\012b'`, which Bash, Zsh and POSIX's shell (issue 8) read:
    https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
    """
    return " ".join(shlex.quote(word) if word.isprintable() else _escaped(word) for word in words)


def _escaped(word: str) -> str:
    # Octal, and always three digits: a hexadecimal escape may swallow the digits behind it.
    shown = (chr(b) if _is_plain(b) else f"\\{b:03o}" for b in os.fsencode(word))
    return f"$'{''.join(shown)}'"


def _is_plain(byte: int) -> bool:
    return 0x20 <= byte < 0x7F and byte not in b"'\\"
