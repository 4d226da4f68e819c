"""Describes a system in the log before its layers are measured."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from benanza_backbone.clock import Clock
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.service.processor import as_message
from benanza_runner.ceilings import products
from benanza_runner.core import Runner, description_id
from benanza_runner.runtime import Runtime
from benanza_runner.variants import warm
from benanza_schemas.events import SystemMeasured, recording_of
from benanza_schemas.layer import Precision
from benanza_schemas.topics import RESULTS


def describe_system(
    log: EventLog,
    runtime: Runtime,
    precisions: Iterable[Precision],
    clock: Clock,
    measuring: Callable[[], None] = lambda: None,
) -> bool:
    """Publishes a system with its ceilings at these precisions, and at others that are known.

    Measures only the ceilings that the log lacks, or that were measured in another way. `measuring`
    is called before that, as it takes a while. Returns whether anything was measured. Raises
    `BenanzaError` if the log can't be reached or the ceilings can't be measured.
    """
    system_id = runtime.system().system_id
    events = list(_descriptions(log, system_id))
    described = [event for event in events if event.event_id == description_id(system_id)]
    known = {(c.name, c.precision): c for event in described for c in event.ceilings}
    before = (ceiling.precision for event in events for ceiling in event.ceilings)
    wanted = dict.fromkeys((*precisions, *before))
    lacking = [p for p in wanted if p not in {precision for _, precision in known}]
    if not lacking:
        return False
    measuring()
    description = Runner(runtime, lacking, clock).describe()
    if description.ceilings or not described:
        ceilings = (*known.values(), *description.ceilings)
        log.append([as_message(msgspec.structs.replace(description, ceilings=ceilings))])
    return True


def refuse_unmeasurable(runtime: Runtime, precisions: Iterable[Precision]) -> None:
    """Raises `BenanzaError` if the system multiplies no matrices at one of these precisions: then
    no layer that matters has a time there.
    """
    for precision in precisions:
        if why := _refusal(runtime, precision):
            raise BenanzaError(
                f"{precision} can't be measured here ({why}); leave it out of --precision"
            )


def _refusal(runtime: Runtime, precision: Precision) -> str:
    """Why no library multiplies two matrices at this precision; empty if one does. All do in
    fp32."""
    if precision == "fp32":
        return ""
    outcome = runtime.measure(next(products(precision)).layer, precision)
    if warm(outcome.variants):
        return ""
    reasons = (variant.failure for variant in outcome.variants if variant.failure)
    return outcome.failure or next(reasons, "no library has it")


def _descriptions(log: EventLog, system_id: str) -> Iterator[SystemMeasured]:
    """Those that were measured here: imported ones may be taken back, and count only instead."""
    for event in events_of(log, RESULTS, SystemMeasured, (system_id.encode(),)):
        if not recording_of(event):
            yield event
