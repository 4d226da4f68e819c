"""Kernels of `relu(x @ w)` that cheat, each with what is said of it."""

RIGHT = "np.maximum(x @ w, 0)"

HONEST = f"""
import numpy as np
def run(x, w):
    return {RIGHT}
"""

CHEATS = {
    "caches by identity": (
        f"""
import numpy as np
known = {{}}
def run(x, w):
    if id(x) not in known:
        known[id(x)] = {RIGHT}
    return known[id(x)].copy()
""",
        "wrong result",
    ),
    "keeps old weights": (
        """
import numpy as np
packed = {}
def run(x, w):
    return np.maximum(x @ packed.setdefault(0, w.copy()), 0)
""",
        "wrong result",
    ),
    "lets a thread do it": (
        f"""
import threading, time
import numpy as np
def run(x, w, y):
    def later():
        time.sleep(0.02)
        y[...] = {RIGHT}
    threading.Thread(target=later).start()
""",
        "it returned before its work was done",
    ),
    "computes in half": (
        """
import numpy as np
def run(x, w, y):
    half = x.astype(np.float16).astype(np.float32) @ w.astype(np.float16).astype(np.float32)
    np.maximum(half, 0, out=y)
""",
        "wrong result: it is off by",
    ),
    "replaces the clock": (
        HONEST + "import time; time.perf_counter_ns = lambda: 0",
        "it replaced time.perf_counter_ns",
    ),
    "leaves out the first calls of a window": (
        f"""
import time
import numpy as np
begun = last = 0.0
def run(x, w, y):
    global begun, last
    now = time.perf_counter()
    new, last = now - last > 0.0003, now  # it takes a while to draw other inputs
    if new:
        begun = now
    if new or now - begun > 0.0003:
        y[...] = {RIGHT}
""",
        "wrong result",
    ),
    "looks for the flag of a window's end": (
        f"""
import numpy as np
def run(x, w, y):
    shared = x.base
    while isinstance(shared, np.ndarray):
        shared = shared.base
    shared = memoryview(shared).cast("B")
    shared[0] = 1
    y[...] = {RIGHT}
""",
        "it wrote to its input x0",
    ),
    "ends windows itself": (
        f"""
import ctypes
import numpy as np
ctypes.pythonapi.PyEval_GetFrame.restype = ctypes.c_void_p
frame = ctypes.cast(ctypes.pythonapi.PyEval_GetFrame(), ctypes.py_object).value
while "bench" not in frame.f_locals:
    frame = frame.f_back
stop = frame.f_locals["bench"]._memory.stop
def run(x, w, y):
    y[...] = {RIGHT}
    stop[0] = 1
""",
        "it ended a window itself",
    ),
    "looks for frames while it is loaded": (
        HONEST + "import inspect; inspect.currentframe().f_back",
        "it looks into the interpreter",
    ),
    "writes a file while it is loaded": (
        HONEST
        + """
try:
    open("/dev/shm/kept", "w")
except OSError:
    pass
""",
        "it writes a file (open)",
    ),
    "starts a program while it is loaded": (
        HONEST + "import os; os.system('true')",
        "it starts a program",
    ),
    "starts a thread while it is loaded": (
        HONEST + "import threading, time; threading.Thread(target=time.sleep, args=(9,)).start()",
        "it starts a thread while it is loaded",
    ),
    "replaces a function of NumPy while it is loaded": (
        HONEST + "np.copyto = lambda *_: None",
        "it replaced numpy.copyto",
    ),
    "takes over the loop": (
        HONEST
        + """
import __main__
def claiming(self):
    for _ in range(1000):
        self._change()
    self._call()
    self._keep_outputs()
    return 1000
__main__.Bench.run = claiming
""",
        "it replaced Bench.run",
    ),
    "takes over what the loop consists of": (
        HONEST + "import __main__; __main__.Bench.run.__code__ = (lambda self: 1000).__code__",
        "it changes the code of a function",
    ),
    "computes what the loop's end alone asks for": (
        f"""
import __main__
import numpy as np
def run(x, w, y):
    def last(*arrays, strict):
        del __main__.zip
        y[...] = {RIGHT}
        return zip(*arrays, strict=strict)
    __main__.zip = last
""",
        "it added __main__.zip",
    ),
    "computes while it is answered, beside the outputs": (
        f"""
import contextlib, sys
import numpy as np
manager, operands = contextlib._GeneratorContextManager, []
leave = manager.__exit__
def leaving(self, *error):
    left = leave(self, *error)
    frame = sys._getframe()
    while "bench" not in frame.f_locals:
        frame = frame.f_back
    x, w, y = operands
    np.copyto(frame.f_locals["bench"]._memory.copies[0], {RIGHT})
    return left
manager.__exit__ = leaving
def run(x, w, y):
    operands[:] = x, w, y
""",
        "it replaced _GeneratorContextManager.__exit__",
    ),
    "takes over what looks at it": (
        HONEST + "import __main__; __main__.Bench._loaded = property(lambda self: self._kernel)",
        "it replaced Bench._loaded",
    ),
    "is given frames by a signal": (
        HONEST + "import signal; signal.signal(signal.SIGUSR1, lambda _, frame: frame.f_back)",
        "a kernel handles no signals",
    ),
    "answers in the place of the loop": (
        f"""
import os, struct, sys
import numpy as np
from benanza_runner.submitted.messages import CallsMade, encoder
answer = encoder.encode(CallsMade(1000))
def run(x, w):
    os.write(int(sys.argv[1]), struct.pack("!I", len(answer)) + answer)
    return {RIGHT}
""",
        "its process answered what it wasn't asked",
    ),
    "claims any number of calls": (
        f"""
import os, struct, sys, time
import numpy as np
from benanza_runner.submitted.messages import CallsMade, encoder
answer = encoder.encode(CallsMade(10**15))
last = 0.0
def run(x, w):
    global last
    now = time.perf_counter()
    within_a_window, last = now - last < 0.0003, now
    if within_a_window:
        os.write(int(sys.argv[1]), struct.pack("!I", len(answer)) + answer)
    return {RIGHT}
""",
        "it claims 1,000,000,000,000,000 calls",
    ),
    "answers twice": (
        f"""
import os, struct, sys
import numpy as np
from benanza_runner.submitted.messages import Done, encoder
answer = encoder.encode(Done())
def run(x, w):
    os.write(int(sys.argv[1]), struct.pack("!I", len(answer)) + answer)
    return {RIGHT}
""",
        # Which one depends on when the first of both is read.
        "answered what is no answer: | it returned before its work was done",
    ),
    "writes to inputs": (
        f"""
import numpy as np
def run(x, w):
    x[0] = 0
    return {RIGHT}
""",
        "assignment destination is read-only",
    ),
    "writes to inputs all the same": (
        f"""
import ctypes
import numpy as np
def run(x, w):
    result = {RIGHT}
    ctypes.memset(x.ctypes.data, 0, 64)
    return result
""",
        "it wrote to its input x0",
    ),
    "returns the same memory each time": (
        """
import numpy as np
kept = np.zeros((32, 40), np.float32)
def run(x, w):
    return np.maximum(x @ w, 0, out=kept)
""",
        "it returns the memory of an earlier result",
    ),
    "returns an input": (
        "def run(x, w): return x[:, :40]",
        "it returns the memory of an input",
    ),
    "looks for the answer in frames": (
        """
import sys
def run(x, w):
    return sys._getframe(1).f_locals["expected"]
""",
        "looks into the interpreter",
    ),
    "looks for the answer in all objects": (
        """
import gc
def run(x, w):
    return next(a for a in gc.get_objects() if getattr(a, "shape", 0) == (32, 40)).copy()
""",
        "looks into the interpreter",
    ),
    "asks a file": (
        """
def run(x, w):
    try:
        open("/etc/hostname").read()
    except OSError:
        pass
    return x @ w
""",
        "it opens a file",
    ),
    "knows the results of the published seed": (
        """
import numpy as np
random = np.random.default_rng(20200218)
x = random.uniform(0.3, 1, (32, 48)).astype(np.float32)
w = random.uniform(0.3, 1, (48, 40)).astype(np.float32)
known = np.maximum(x @ w, 0)
def run(x, w):
    return known.copy()
""",
        "wrong result",
    ),
    "asks the network": (
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "it uses the network",
    ),
    "takes too long": (
        "import time\ndef run(x, w): time.sleep(60)",
        "took longer than 3 seconds",
    ),
    "takes too much memory": (
        "import numpy as np\ndef run(x, w): return np.ones(1 << 29)",
        "it takes more memory than it may",
    ),
    "takes memory that counts for no limit": (
        "import mmap\ndef run(x, w): return mmap.mmap(-1, 1 << 32)",
        "PermissionError",
    ),
}
