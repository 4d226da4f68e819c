"""What every worker of a submitted kernel does: it answers the referee until that closes."""

import signal
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from types import ModuleType

from benanza_backbone.confining.confine import Confinement
from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent
from benanza_runner.reasons import short_reason
from benanza_runner.submitted import messages
from benanza_runner.submitted.messages import (
    MOST_BYTES,
    Arrange,
    Begin,
    Begun,
    CallsMade,
    Done,
    FetchArrays,
    KernelRefused,
    LoadKernel,
    Prepare,
    Reply,
    Request,
    Run,
    Try,
    encoder,
    requests,
)
from benanza_runner.submitted.working import tampering
from benanza_runner.submitted.working.sources import KernelError
from benanza_runner.submitted.working.tampering import KernelWatch

_OWN = (sys.modules[__name__], frames, messages, tampering, KernelWatch)


class KernelBench(ABC):
    """A kernel and its arrays on a device. Methods raise what the kernel raises, and `KernelError`
    for what it does wrong.
    """

    @abstractmethod
    def confine(self) -> Confinement:
        """Takes from this process what no kernel needs, before one is loaded."""

    @abstractmethod
    def load(self) -> None:
        """Loads the kernel, which so runs for the first time."""

    @abstractmethod
    def prepare(self) -> None:
        """Tells it that there are other weights."""

    @abstractmethod
    def try_it(self) -> None:
        """Calls it once, and looks at what it returns."""

    @abstractmethod
    def arrange(self, request: Arrange) -> None:
        """Makes ready for calls with inputs that change so, and makes the first."""

    @abstractmethod
    def run(self) -> int:
        """Calls it until the flag is set; returns how often."""

    @abstractmethod
    def fetch(self) -> None:
        """Lays into the shared memory what the device holds."""


def serve(
    referee: int,
    bench_of: Callable[[Begin, KernelWatch], KernelBench],
    own: Iterable[ModuleType | type],
    used: Iterable[ModuleType | type] = (),
) -> None:
    """Answers requests over this file descriptor until the other side closes. A kernel may replace
    nothing of the modules and classes that are the bench's `own`, and no function of those that are
    `used`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the referee to act on.
    for name in ("signal", "_signal"):
        vars(sys.modules[name])["signal"] = _refuse_signals
    end_with_the_parent()
    warnings.simplefilter("ignore")  # To show one, Python would read files.
    sys.dont_write_bytecode = True  # It could not, and would be taken for the kernel's doing.
    begin = _request(referee)
    if not isinstance(begin, Begin):
        raise TypeError(f"the first message is a {type(begin).__name__}, not a Begin")
    watch = KernelWatch((*_OWN, *own), used)
    bench = bench_of(begin, watch)
    _reply(referee, Begun(bench.confine().missing()))
    while True:
        try:
            request = _request(referee)
        except EOFError:
            return
        _reply(referee, _answer(bench, watch, request))


def _refuse_signals(*_: object) -> None:
    """In the place of what sets a handler of signals, which is given frames to look into."""
    raise PermissionError("a kernel handles no signals")


def _answer(bench: KernelBench, watch: KernelWatch, request: Request) -> Reply:
    try:
        reply = _done(bench, request)
        return KernelRefused(reason) if (reason := watch.reason()) else reply
    except KernelError as error:
        return KernelRefused(watch.reason() or str(error))
    except MemoryError:
        return KernelRefused("it takes more memory than it may")
    except BaseException as error:  # noqa: BLE001  # a kernel may raise anything
        return KernelRefused(watch.reason() or short_reason(f"it raised {_said(error)}"))


def _done(bench: KernelBench, request: Request) -> Reply:
    match request:
        case LoadKernel():
            bench.load()
        case Prepare():
            bench.prepare()
        case Try():
            bench.try_it()
        case Arrange():
            bench.arrange(request)
        case Run():
            return CallsMade(bench.run())
        case FetchArrays():
            bench.fetch()
        case Begin():
            raise TypeError("the worker has begun already")
    return Done()


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _request(referee: int) -> Request:
    return requests.decode(frames.receive(referee, MOST_BYTES))


def _reply(referee: int, reply: Reply) -> None:
    frames.send(referee, encoder.encode(reply))
