"""What a worker process does about itself."""

import os
import resource
import threading


def end_with_the_parent() -> None:
    """Ends this process when standard input closes, as it does when the parent ends, however it
    ends. A thread waits for that.
    """
    threading.Thread(target=_read_to_the_end, daemon=True).start()


def limit_memory(memory_bytes: int) -> None:
    """Makes allocations fail before the system has to kill a process to free memory, and leaves no
    core dump.
    """
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read_to_the_end() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)
