"""What becomes of a hostile input in this process, and whether that is as it should be."""

import re
import resource
import time
from typing import NamedTuple

from benanza_backbone.worker.process import decoded
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.isolation.answers import packed, unless_refused, unpacked
from benanza_ingest.isolation.messages import answers, encoder
from benanza_ingest.limits import Limits
from benanza_schemas.codec import DecodeError, decode, encode
from benanza_schemas.events import ModelPublished
from tests.fuzz.cases import Case

MOST_SECONDS = 1.0
"""Of the processor, since other programs may run beside."""

LIMITS = Limits(nodes=5_000)
"""The time of a model grows with its nodes, which functions multiply: a limit of more is a limit of
more seconds."""

MOST_BYTES = 512 << 20
"""By which an input may enlarge what the process has taken at most so far."""

MOST_CHARACTERS = 2000

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Outcome(NamedTuple):
    """`end` is accepted, refused, or what is wrong; `said` is why."""

    end: str
    said: str
    seconds: float


WRONG = ("exception", "slow", "memory", "refusal of several lines")


def outcome(case: Case) -> Outcome:
    """Ingests or decodes the input."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    end, said = _end(case)
    seconds = time.process_time() - started
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if end in ("accepted", "refused") and seconds > MOST_SECONDS:
        end, said = "slow", f"{seconds:.1f} s, {end}: {said}"
    if end in ("accepted", "refused") and taken * 1024 > MOST_BYTES:
        end, said = "memory", f"{taken >> 10} MB, {end}: {said}"
    return Outcome(end, said, seconds)


def _end(case: Case) -> tuple[str, str]:
    try:
        if case.kind.startswith("model"):
            _check_told(extract(case.content, batch=case.batch, limits=LIMITS), case.batch)
        else:
            event = decode(case.content)
            again = decode(encode(event))
            if encode(again) != encode(event):
                return "exception", "the event isn't the same after it was encoded again"
    except (ModelError, DecodeError) as error:
        said = str(error)
        several = _CONTROL.search(said) or len(said) > MOST_CHARACTERS
        return ("refusal of several lines" if several else "refused"), said
    except MemoryError as error:
        return "memory", repr(error)
    except Exception as error:  # noqa: BLE001  what is looked for
        return "exception", f"{type(error).__name__}: {error}"
    return "accepted", ""


def _check_told(model: ExtractedModel, batch: int | None) -> None:
    """Raises `AssertionError` unless the service takes it as its process found it."""
    message = encoder.encode(packed(model))
    asked = ModelPublished(event_id="0" * 32, name="", sha256="0" * 64)
    taken = unpacked(unless_refused(decoded(message, answers)), asked, batch, LIMITS)
    assert encoder.encode(packed(taken)) == message, "the service is told another model"
