"""Three agents on two devices over a broker, and what befalls them meanwhile.

Two agents are of one system, each on a device; the third is of another system, on the device of the
first. Every evaluation is asked of both systems.
"""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benanza.agents.options import options_of
from benanza.evaluating.request import EvaluationRequest
from benanza_backbone.clock import now
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import (
    Constraints,
    EvaluationRequested,
    EvaluationTaken,
    ModelEvaluated,
    ModelPublished,
    event_id,
)
from benanza_schemas.topics import EVALUATED
from tests.agents import worker
from tests.agents.agent_process import system
from tests.agents.faults import BROKER, Fault, How

AGENTS = {"a": ("device-0", "one"), "b": ("device-1", "one"), "c": ("device-0", "other")}
SYSTEMS = tuple(sorted(system(kind).system_id for kind in ("one", "other")))


class Found(NamedTuple):
    """What came of a campaign, by evaluation and system: how many results were written, which
    failed, and which agents began with it. `runs` is how often one began at all.
    """

    results: Counter[tuple[str, str]]
    wanted: set[tuple[str, str]]
    failures: dict[tuple[str, str], str]
    takers: dict[tuple[str, str], set[str]]
    together: list[str]
    runs: int
    seconds: float

    def wrong(self) -> list[str]:
        """What should not be."""
        wrong = [f"lost: {each}" for each in self.wanted - self.results.keys()]
        wrong += [f"not asked for: {each}" for each in self.results.keys() - self.wanted]
        wrong += [f"{n} results: {each}" for each, n in self.results.items() if n > 1]
        wrong += [f"at once on a device: {line}" for line in self.together]
        wrong += [
            f"failed: {each}: {why}"
            for each, why in self.failures.items()
            if "ended without a result" not in why or len(self.takers[each]) < 2
        ]
        return wrong


class _Agents:
    """The processes, each started again when it should be there."""

    def __init__(self, folder: Path, kafka: KafkaConnection, sleep_s: float | None) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "BENANZA_KAFKA": ",".join(kafka.bootstrap),
            "BENANZA_KAFKA_PREFIX": kafka.prefix,
            "BENANZA_METRICS_PORT": "0",
            "BENANZA_DRAIN_TIMEOUT_S": "5",
            "TMPDIR": str(folder),
            worker.JOURNAL: str(folder / "journal"),
            **({} if sleep_s is None else {worker.SLEEP_S: str(sleep_s)}),
        }
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        device, kind = AGENTS[name]
        with (self._folder / f"{name}.log").open("ab") as said:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "tests.agents.agent_process", name, device, kind],
                env=self._environment | {worker.DEVICE: device},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def befall(self, fault: Fault) -> None:
        process = self._processes[fault.target]
        match fault.how:
            case How.KILLED:
                process.kill()
                process.wait()
                time.sleep(fault.for_s)
                self.start(fault.target)
            case How.PAUSED:
                process.send_signal(signal.SIGSTOP)
                time.sleep(fault.for_s)
                process.send_signal(signal.SIGCONT)
            case How.RESTARTED:
                process.terminate()
                process.wait()
                time.sleep(fault.for_s)
                self.start(fault.target)

    def keep(self) -> None:
        """Starts those again that ended by themselves, as Docker does."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                self.start(name)

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()


def campaign(
    folder: Path,
    kafka: KafkaConnection,
    evaluations: int,
    befalling: Sequence[Fault],
    *,
    model: bytes,
    sleep_s: float | None = 0.3,
    patience_s: float = 120.0,
    pause_broker: Callable[[float], object] = lambda _: None,
    happened: Callable[[str], object] = lambda _: None,
) -> Found:
    """Asks for so many evaluations while the faults befall the agents and the broker, and waits
    for what is still to come, until none came for `patience_s` seconds. Without `sleep_s` the model
    is evaluated, for half a second each.
    """
    began = time.monotonic()
    agents = _Agents(folder, kafka, sleep_s)
    try:
        with KafkaEventLog(kafka) as log:
            asked = [_request(number, model) for number in range(evaluations)]
            for name in AGENTS:
                agents.start(name)
            published = 0
            for number, fault in enumerate(befalling, 1):
                upto = round(evaluations * number / len(befalling))
                log.append([as_message(each) for each in asked[published:upto]])
                published = upto
                time.sleep(fault.after_s)
                happened(f"{fault.target} is {fault.how} for {fault.for_s:.1f} s")
                if fault.target == BROKER:
                    pause_broker(fault.for_s)
                else:
                    agents.befall(fault)
                agents.keep()
            so_far, since = 0, time.monotonic()
            while True:
                found = _found(log, asked, folder / "journal", time.monotonic() - began)
                if len(found.results) > so_far:
                    so_far, since = len(found.results), time.monotonic()
                silent_s = time.monotonic() - since
                if found.wanted <= found.results.keys() or silent_s > patience_s:
                    return found
                agents.keep()
                time.sleep(0.5)
    finally:
        agents.close()


def _request(number: int, model: bytes) -> EvaluationRequested:
    request = EvaluationRequest(model="", duration_s=0.5)
    published = ModelPublished(
        event_id=event_id("ModelPublished", "tiny"),
        name="tiny",
        sha256=hashlib.sha256(model).hexdigest(),
        content=model,
    )
    return EvaluationRequested(
        event_id=event_id("EvaluationRequested", str(number)),
        published=published,
        model_id="0" * 32,
        scenario=request.scenario,
        precision="fp32",
        constraints=Constraints(framework="onnxruntime"),
        systems=SYSTEMS,
        requested_at=now(),
        options=options_of(request),
    )


def _found(
    log: KafkaEventLog, asked: list[EvaluationRequested], journal: Path, seconds: float
) -> Found:
    results: Counter[tuple[str, str]] = Counter()
    failures: dict[tuple[str, str], str] = {}
    takers: dict[tuple[str, str], set[str]] = {}
    for taken in events_of(log, EVALUATED, EvaluationTaken):
        takers.setdefault((taken.evaluation_id, taken.system_id), set()).add(taken.agent_id)
    for result in events_of(log, EVALUATED, ModelEvaluated):
        of = result.evaluation_id, result.system.system_id
        results[of] += 1
        if result.failure:
            failures[of] = result.failure
    lines = journal.read_text().splitlines() if journal.exists() else []
    return Found(
        results=results,
        wanted={(each.event_id, system_id) for each in asked for system_id in SYSTEMS},
        failures=failures,
        takers=takers,
        together=[line for line in lines if " together-with " in line],
        runs=sum(" began " in line for line in lines),
        seconds=seconds,
    )
