"""Recordings of measurements that were made elsewhere: which events came in one, and that it is
taken back.
"""

from benanza_schemas.events.event import Event, TimedEvent
from benanza_schemas.events.measurements import LayerMeasured, SystemMeasured
from benanza_schemas.events.runs import ModelProfiled, ModelWitnessed
from benanza_schemas.limits import MaybeHash, Sha256, Time
from benanza_schemas.vocabulary import SUBMITTED

MARK = "imported_from"
"""What the environment of an imported measurement or profile has the SHA-256 of its file under."""


class RecordingWithdrawn(TimedEvent, frozen=True, kw_only=True):
    """What was imported from a file counts no more. Topic `results`, key `digest`; or topic
    `profiles`, key `model_id`.

    `digest` is the file's SHA-256. Without `model_id`, all measurements are taken back that came in
    the file and stand before this event in the topic `results`; with one, the runs of this model,
    profiles and witnesses, that stand before it in `profiles`. So the log's order decides: what is
    imported again later counts again. Events of one key keep their order in every log.
    """

    digest: Sha256
    withdrawn_at: Time
    model_id: MaybeHash = ""


def is_submitted(event: LayerMeasured) -> bool:
    """Whether it is the measurement of a kernel that somebody submitted. `recording_of` is the
    SHA-256 of the kernel's file, then, and takes it back.
    """
    return any(variant.library == SUBMITTED for variant in event.variants)


def recording_of(event: Event) -> str:
    """The SHA-256 of the file that the event was imported from; empty for what was made here.

    A system that was imported before version 13 doesn't say so, and counts as measured here.
    """
    match event:
        case SystemMeasured() | ModelWitnessed():
            return event.imported_from
        case LayerMeasured() | ModelProfiled():
            return event.environment.get(MARK, "")
        case _:
            return ""
