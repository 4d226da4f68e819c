"""Landlock: what of the file system this process may still reach, by the Linux kernel.

The numbers are those of <linux/landlock.h>; the system calls have the same numbers on all
architectures. https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from benanza_backbone.confining.system_calls import no_new_privileges, system_call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
_WRITE_FILE, _IOCTL_DEVICE = 1 << 1, 1 << 15
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _READ_FILE
_ON_DEVICES = _READ_FILE | _WRITE_FILE | _IOCTL_DEVICE

_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""How many rights there are from this version of the interface on; each is a bit."""

_NET_SINCE, _CONNECT_AND_BIND = 4, 0b11
_SCOPES_SINCE, _SOCKETS_AND_SIGNALS = 6, 0b11


def version() -> int:
    """The version of the kernel's interface; 0 where there is none."""
    return max(0, system_call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(
    readable: Iterable[Path],
    network: bool,
    writable: Iterable[Path] = (),
    devices: Iterable[Path] = (),
) -> bool:
    """Leaves this thread, and what it starts, nothing of the file system but reading below these
    paths, anything below the folders `writable` and the use of the files `devices`; no abstract
    sockets and no signals to others than it starts; without `network`, also no TCP; as far as the
    kernel knows these.

    Returns False, and changes nothing, where the kernel has no Landlock. Files that are open stay
    open. Raises `OSError` if it should work and doesn't.
    """
    known = version()
    if not known:
        return False
    files = (1 << max(count for since, count in _FILE_RIGHTS.items() if since <= known)) - 1
    attributes = struct.pack("=Q", files)
    if known >= _NET_SINCE:
        attributes += struct.pack("=Q", 0 if network else _CONNECT_AND_BIND)
    if known >= _SCOPES_SINCE:
        attributes += struct.pack("=Q", _SOCKETS_AND_SIGNALS)
    rules = _checked(system_call(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for path in readable:
            _allow(rules, path, _READING if path.is_dir() else _ON_FILES)
        for path in writable:
            _allow(rules, path, files)
        for path in devices:
            _allow(rules, path, _ON_DEVICES & files)
        no_new_privileges()
        _checked(system_call(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, path: Path, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # What isn't there needs no right.
    try:
        _checked(
            system_call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
        )
    finally:
        os.close(opened)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result
