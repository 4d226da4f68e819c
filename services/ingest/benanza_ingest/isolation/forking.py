"""A process that answers each request in a child of its own, so that a model which takes one over
has it for itself alone. It has imported everything before, and has no threads, so that a fork is
safe; it reads nothing of any model.
"""

import os
import signal
import socket
import traceback
from collections.abc import Callable

BEGIN, END, SHARE = b"b", b"e", b"s"
"""What the parent orders: to start a child, with its socket to the parent; to end the child; to end
as the child does, which has closed its socket.
"""


def answer_in_children(parent: socket.socket, answer: Callable[[int], None]) -> None:
    """Does what the parent orders, until that closes. At most one child lives at a time; it calls
    `answer` with the file descriptor of its socket.
    """
    child = 0
    while True:
        order, sockets, _, _ = socket.recv_fds(parent, 1, 1)
        if child:
            _end(child, share=order == SHARE)
            child = 0
        if not order:
            return
        if order == BEGIN:
            child = os.fork()
            if not child:
                parent.close()
                _answer(sockets[0], answer)
            os.close(sockets[0])


def _answer(parent: int, answer: Callable[[int], None]) -> None:
    """Ends the process."""
    status = 1
    try:
        answer(parent)
        status = 0
    except BaseException:  # noqa: BLE001  # nothing may return into the loop of the parent
        traceback.print_exc()
    finally:
        os._exit(status)


def _end(child: int, *, share: bool) -> None:
    if not share:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if share:
        if os.WIFSIGNALED(status):
            os.kill(os.getpid(), os.WTERMSIG(status))
        os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)
