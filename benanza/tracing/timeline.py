"""When GPUs were at work, and what they waited for otherwise."""

from collections.abc import Iterable
from dataclasses import dataclass

from benanza.tracing.formats.recorded import TO_HOST
from benanza.tracing.spool import Timed


@dataclass
class Timeline:
    """Times of all GPUs of a trace together, in microseconds, from each one's first activity to its
    last.

    `busy_us` is when anything ran, `computing_us` when anything but collectives did. The rest is
    idle: `synchronisation_us` after a copy to the host, before which the host starts
    nothing more; `host_us` until the host began to start what ran next; `launching_us` from then
    on; `between_us` where that had been started before, or where it isn't known when.
    """

    devices: int = 0
    busy_us: float = 0.0
    computing_us: float = 0.0
    synchronisation_us: float = 0.0
    host_us: float = 0.0
    launching_us: float = 0.0
    between_us: float = 0.0

    @property
    def exposed_collectives_us(self) -> float:
        """When nothing but collectives ran."""
        return self.busy_us - self.computing_us

    @property
    def idle_us(self) -> float:
        """When no GPU was at work."""
        return self.synchronisation_us + self.host_us + self.launching_us + self.between_us


def timeline(activities: Iterable[Timed]) -> Timeline:
    """The times of activities that are sorted by device and start."""
    times = Timeline()
    device: str | None = None
    end_us = computed_us = 0.0
    last = ""
    for activity in activities:
        start_us, ended_us = activity.start_us, activity.start_us + activity.us
        if activity.device != device:
            device, end_us, computed_us = activity.device, start_us, start_us
            times.devices += 1
        if start_us > end_us:
            _idle(times, activity, last, end_us)
        times.busy_us += max(0.0, ended_us - max(end_us, start_us))
        if activity.kind != "collective":
            times.computing_us += max(0.0, ended_us - max(computed_us, start_us))
            computed_us = max(computed_us, ended_us)
        if ended_us >= end_us:
            end_us, last = ended_us, activity.name
    return times


def _idle(times: Timeline, activity: Timed, last: str, end_us: float) -> None:
    idle_us = activity.start_us - end_us
    launched_us = activity.launched_us
    if last.startswith(TO_HOST):
        times.synchronisation_us += idle_us
    elif launched_us is None or launched_us <= end_us:
        times.between_us += idle_us
    else:
        waited_us = min(launched_us, activity.start_us) - end_us
        times.host_us += waited_us
        times.launching_us += idle_us - waited_us
