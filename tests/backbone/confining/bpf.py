"""Runs classic BPF over a system call, as the kernel does for seccomp."""

import struct
from collections.abc import Sequence


def decision(program: bytes, audit: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the filter returns for a call of this architecture."""
    given = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *given)
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, operand)
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x06:
                return int(operand)
            case _:
                raise AssertionError(f"the filter has the instruction {code:#x}")
