"""`dead-letters`: what the services could not process, and what is done about it.

The topic is kept for ever, so what an operator has done with a dead letter is an event there as
well: the last event about a dead letter says whether it is open.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import islice
from typing import Literal, NamedTuple

import msgspec

from benanza.installation.configured import configured_log, log_name
from benanza.prefixes import with_prefix
from benanza.results.dead_letters import (
    DeadLetterContent,
    DeadLetters,
    DeadLetterSummary,
    SettledDeadLetters,
    UnsettledDeadLetter,
)
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Message, Partition, Record
from benanza_backbone.service.dead_letter import MAX_KEPT_BYTES, MAX_KEPT_KEY_BYTES
from benanza_backbone.service.processor import NOT_UNPACKED, as_message
from benanza_backbone.settings import Settings
from benanza_schemas.codec import DecodeError, decode
from benanza_schemas.consumer_groups import is_of
from benanza_schemas.events import DeadLetter, DeadLetterSettled, event_id
from benanza_schemas.limits import LAST_TIME
from benanza_schemas.topics import DEAD_LETTERS, TOPICS

AT_ONCE = 10
"""Dead letters between two waits for the log: with what they hold, at most 160 MB."""

Action = Literal["replayed", "dropped"]


class _Filed(NamedTuple):
    """A dead letter as the topic has it: where its event stands, and its state."""

    partition: Partition
    offset: int
    summary: DeadLetterSummary


def list_dead_letters(
    settings: Settings, *, service: str | None, limit: int, settled: bool
) -> DeadLetters:
    """The newest dead letters, of one service or of all: those open, or those `settled` too."""
    with configured_log(settings) as log:
        filed, unreadable = _filed(log)
    chosen = [
        filed[identity].summary for identity in reversed(_of(filed, service, settled=settled))
    ]
    return DeadLetters(
        log=log_name(settings),
        dead_letters=tuple(chosen[:limit]),
        found=len(chosen),
        unreadable=unreadable,
    )


def show_dead_letter(settings: Settings, identity: str) -> DeadLetterContent:
    """One dead letter with what it holds, by its id or the first digits of it.

    Raises `BenanzaError` if it is none's, or that of several.
    """
    with configured_log(settings) as log:
        filed, _ = _filed(log)
        partition, offset, summary = _meant(identity, filed, settings)
        (record,) = log.read(partition, offset, 1)
    letter = _letter(record)
    event, undecodable, in_hex = None, "", ""
    try:
        event = msgspec.json.decode(msgspec.json.encode(decode(letter.value)))
    except DecodeError as error:
        undecodable, in_hex = str(error), letter.value.hex()
    return DeadLetterContent(
        dead_letter=summary,
        event=event,
        undecodable=undecodable,
        hex=in_hex,
    )


def settle_dead_letters(
    settings: Settings, action: Action, *, ids: Sequence[str] = (), service: str | None = None
) -> SettledDeadLetters:
    """Replays or drops dead letters: those whose ids begin so, or with no ids all that are open.

    `service` leaves it at those of one service. To replay is to append the original bytes to
    their topic under their key again. A dead letter that is unknown, settled already or not
    kept whole is among the `errors` of the result, and the others are settled. A crash may
    leave one replayed and open: replayed twice, it does no harm.
    """
    settled: list[str] = []
    errors: list[UnsettledDeadLetter] = []
    with configured_log(settings) as log:
        filed, _ = _filed(log)
        places: set[tuple[Partition, int]] = set()
        for asked in dict.fromkeys(ids) or _of(filed, service):
            try:
                partition, offset, summary = _meant(asked, filed, settings)
                reason = _obstacle(summary, action)
            except BenanzaError as error:
                reason = str(error)
            if reason:
                errors.append(UnsettledDeadLetter(id=asked, reason=reason))
            else:
                places.add((partition, offset))
        chosen = (r for r in log.records(DEAD_LETTERS) if (r.partition, r.offset) in places)
        while letters := [_letter(record) for record in islice(chosen, AT_ONCE)]:
            if action == "replayed":
                log.append([Message(letter.topic, letter.key, letter.value) for letter in letters])
            log.append([as_message(_settlement(letter, action)) for letter in letters])
            settled += [letter.event_id for letter in letters]
    return SettledDeadLetters(action=action, dead_letters=tuple(settled), errors=tuple(errors))


def open_dead_letters(log: EventLog) -> list[DeadLetterSummary]:
    """Those that are open, oldest first."""
    filed, _ = _filed(log)
    return [filed[identity].summary for identity in _of(filed, None)]


def _filed(log: EventLog) -> tuple[dict[str, _Filed], int]:
    """The dead letters by id, oldest first, and how many records of the topic aren't any."""
    filed: dict[str, _Filed] = {}
    unreadable = 0
    for record in log.records(DEAD_LETTERS):
        try:
            event = decode(record.value)
        except DecodeError:
            unreadable += 1
            continue
        if isinstance(event, DeadLetter):
            filed.pop(event.event_id, None)  # It failed anew, so it is the newest.
            filed[event.event_id] = _Filed(record.partition, record.offset, _summary(event))
        elif not isinstance(event, DeadLetterSettled):
            unreadable += 1
        elif before := filed.get(event.dead_letter_id):
            summary = msgspec.structs.replace(
                before.summary, state=event.action, settled_at=event.settled_at
            )
            filed[event.dead_letter_id] = before._replace(summary=summary)
    return filed, unreadable


def _summary(letter: DeadLetter) -> DeadLetterSummary:
    key = letter.key.decode(errors="replace")
    return DeadLetterSummary(
        id=letter.event_id,
        service=letter.service,
        topic=letter.topic,
        partition=letter.partition,
        offset=letter.offset,
        key=key if key.isprintable() else letter.key.hex(),
        bytes=len(letter.value),
        truncated=len(letter.value) >= MAX_KEPT_BYTES or len(letter.key) >= MAX_KEPT_KEY_BYTES,
        reason=letter.reason,
        failed_at=letter.failed_at,
        state="open",
        settled_at=None,
    )


def _of(filed: dict[str, _Filed], service: str | None, *, settled: bool = False) -> list[str]:
    """The ids of those open, or `settled` too, of a service or of all; oldest first."""
    return [
        identity
        for identity, (_, _, summary) in filed.items()
        if (settled or summary.state == "open")
        and (service is None or is_of(summary.service, service))
    ]


def _meant(asked: str, filed: dict[str, _Filed], settings: Settings) -> _Filed:
    """The one dead letter whose id begins so. Raises `BenanzaError` if none does, or several."""
    identity = with_prefix(asked, filed, "dead letters")
    if identity is None:
        raise BenanzaError(
            f"there is no dead letter {asked} in {log_name(settings)}; "
            "`benanza dead-letters list --all` shows the ids"
        )
    return filed[identity]


def _obstacle(letter: DeadLetterSummary, action: Action) -> str:
    """Why nothing can be done about this dead letter; empty if something can."""
    identity = letter.id
    place = f"{letter.topic}:{letter.partition}:{letter.offset}"
    if letter.state != "open":
        return f"dead letter {identity} was {letter.state} at {letter.settled_at:%Y-%m-%d %H:%M}"
    if action == "replayed" and NOT_UNPACKED in letter.reason:
        return (
            f"dead letter {identity} is a batch that {place} holds compressed, and no event: say "
            "benanza topics, publish its events again, and drop the dead letter"
        )
    if action == "replayed" and letter.truncated:
        return (
            f"dead letter {identity} was too large to be kept whole; the original is at {place}: "
            "move the service back there with `benanza replay`, or drop the dead letter"
        )
    if action == "replayed" and letter.topic == DEAD_LETTERS:
        return (
            f"dead letter {identity} is of a record of {DEAD_LETTERS} itself that is none, "
            "and would come back: drop it"
        )
    if action == "replayed" and letter.topic not in TOPICS:
        return (
            f"dead letter {identity} is from the topic {letter.topic!r}, which this version "
            "doesn't know: upgrade benanza, or drop the dead letter"
        )
    return ""


def _letter(record: Record) -> DeadLetter:
    letter = decode(record.value)
    assert isinstance(letter, DeadLetter)  # `_filed` has looked.
    return letter


def _settlement(letter: DeadLetter, action: Action) -> DeadLetterSettled:
    failed_at = letter.failed_at.isoformat()  # The same record may fail, and be settled, again.
    return DeadLetterSettled(
        event_id=event_id("DeadLetterSettled", letter.event_id, failed_at, action),
        dead_letter_id=letter.event_id,
        action=action,
        # Another machine's clock may be behind that of the service, and the store goes by time; of
        # equal times it takes what settles.
        settled_at=min(max(now(), letter.failed_at + timedelta(microseconds=1)), LAST_TIME),
    )
