"""Times windows of calls of a submitted kernel by a clock that it can't reach, and checks what is
left behind.
"""

import secrets
import time

from benanza_backbone.worker import frames
from benanza_backbone.worker.process import decoded
from benanza_runner.machine_load import longest_wait_s
from benanza_runner.submitted.asked_worker import NOT_ASKED, AskedWorker, accepted
from benanza_runner.submitted.device import KernelDevice
from benanza_runner.submitted.draws import InputKind
from benanza_runner.submitted.memory import SharedMemory
from benanza_runner.submitted.messages import (
    MOST_BYTES,
    Arrange,
    CallsMade,
    FetchArrays,
    Run,
    encoder,
    replies,
)
from benanza_runner.submitted.operands import KernelOperands
from benanza_runner.submitted.outcome import RefusedError
from benanza_runner.submitted.windows import TimedWindow

SPUN_S = 0.0001
"""Less than this isn't slept: the system wakes nobody so soon."""

MOST_CALLS = 1e8
"""In a second. Python calls nothing so often."""

FIRST_CALLS, MOST_CALLS_AT_A_TIME = 8, 200
"""A device is given about so many calls at a time before it is known how long one takes, and at
most so many then.
"""


class WindowTimer:
    """Has the worker make calls until a time of its own choice."""

    def __init__(
        self,
        operands: KernelOperands,
        memory: SharedMemory,
        worker: AskedWorker,
        device: KernelDevice,
    ) -> None:
        self._operands = operands
        self._memory = memory
        self._worker = worker
        self._device = device
        self._at_a_time = {True: FIRST_CALLS, False: FIRST_CALLS}
        """How many calls a device is given at a time, by whether these do nothing."""

    def window(
        self,
        kind: InputKind,
        *,
        early: bool = False,
        empty: bool = False,
        stopped: bool = False,
        steady: bool = False,
    ) -> TimedWindow:
        """A window of one call or more, which ends at any time if it is `early`; of none if it is
        `stopped`. All is right after it. Raises `RefusedError` if it isn't. If inputs are `steady`,
        they don't change between calls of a device that is asynchronous.
        """
        length_s = 0.0 if stopped else self._early_s() if early else self._long_s()
        self._operands.renew(kind)
        calls = 1
        if self._device.is_asynchronous:
            calls += secrets.randbelow(2 * self._at_a_time[empty])
        arranged = Arrange(secrets.randbits(60), empty, calls, steady)
        self._worker.ask(arranged)
        window = self._timed(length_s, stopped=stopped)
        if self._device.is_asynchronous:
            self._worker.ask(FetchArrays())
            if window.calls:
                fitting = int(self._device.graph_us * window.calls / window.us)
                self._at_a_time[empty] = max(1, min(fitting, MOST_CALLS_AT_A_TIME))
        self._operands.keep()
        self._operands.change(arranged.seed, 1 if steady else 1 + window.calls)
        if not empty:
            self._operands.check()
        return window

    def _timed(self, length_s: float, *, stopped: bool) -> TimedWindow:
        self._memory.stop[0], self._memory.begun[0] = int(stopped), int(stopped)
        worker, message = self._worker, encoder.encode(Run())
        with worker.answering() as deadline:
            waited_s, cpu_s = longest_wait_s(worker.pid), worker.cpu_s()
            begun_s = time.perf_counter()
            frames.send(worker.socket, message, deadline)
            if length_s >= SPUN_S:
                time.sleep(length_s)
            while time.perf_counter() < begun_s + length_s:
                pass
            while not self._memory.begun[0] and worker.is_waited_for(deadline):
                time.sleep(length_s)
            ended = bool(self._memory.stop[0]) and not stopped
            self._memory.stop[0] = 1
            answer = frames.receive(worker.socket, MOST_BYTES, deadline)
            passed_s = time.perf_counter() - begun_s
            worked_s = worker.cpu_s() - cpu_s
            waited_s = longest_wait_s(worker.pid) - waited_s
            self._operands.keep()
            reply = decoded(answer, replies)
        accepted(reply)
        if ended:
            raise RefusedError("it ended a window itself")
        match reply:
            case CallsMade(calls):
                if not stopped and not 0 < calls < MOST_CALLS * passed_s:
                    raise RefusedError(f"it claims {calls:,} calls in {passed_s:.2g} seconds")
                if self._device.is_asynchronous:
                    worked_s = waited_s = 0.0  # The host works while it waits for the device.
                return TimedWindow(passed_s * 1e6, worked_s * 1e6, waited_s * 1e6, calls)
        raise RefusedError(NOT_ASKED)

    def _long_s(self) -> float:
        return self._device.window_s * (0.5 + secrets.randbelow(1000) / 1000)

    def _early_s(self) -> float:
        """When a window ends that isn't timed: any time before a timed one may, the first ones
        more often.
        """
        return 0.5 * self._device.window_s * (secrets.randbelow(1000) / 1000) ** 3
