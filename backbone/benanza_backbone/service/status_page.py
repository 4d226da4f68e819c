"""A service's page for people: how it is, what waits, what it did last. HTML without scripts."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.metadata import version
from platform import node, python_version
from typing import NamedTuple

from benanza_backbone.clock import now
from benanza_backbone.pasteable import pasteable
from benanza_backbone.service.recent import RECENT, Processed
from benanza_backbone.telemetry import CONSUMER_LAG, DEAD_LETTERS_OPEN, OLDEST_UNPROCESSED

STARTED = now()

REFRESH_S = 10

ID_DIGITS = 12
"""By which commands know a dead letter."""

MOST_CHARACTERS = 40
"""Of a model's name, which may be anything."""

HEADERS = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --muted: #777; --ok: #1a7f37; --bad: #c62828; }
@media (prefers-color-scheme: dark) { :root { --muted: #aaa; --ok: #56d364; --bad: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
p { margin: .3rem 0; } .muted { color: var(--muted); }
.ok { color: var(--ok); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; color: var(--muted); white-space: nowrap; }
th, td { padding: .25rem 1.2rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th:last-child, td:last-child { width: 100%; padding-right: 0; }
td { overflow-wrap: anywhere; min-width: 16rem; } td.number, td.short { min-width: 0; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.short, code { white-space: nowrap; } code { font: .88em ui-monospace, monospace; }
nav a { margin-right: 1rem; }
"""


class Lag(NamedTuple):
    """What waits of a topic for a group in this process, and since when the oldest in work does."""

    group: str
    topic: str
    records: int
    oldest: datetime | None


class OpenLetters(NamedTuple):
    """How many dead letters of a service are open, as the store knows them."""

    service: str
    topic: str
    letters: int


class Snapshot(NamedTuple):
    """All that the page shows. A check is its name, whether it is well, and what to say of it."""

    name: str
    at: datetime
    started: datetime
    ready: Sequence[tuple[str, bool, str]]
    alive: Sequence[tuple[str, bool, str]]
    lag: Sequence[Lag]
    events: Sequence[Processed]
    dead_letters: Sequence[Processed]
    open_letters: Sequence[OpenLetters]


def snapshot(
    name: str, ready: Sequence[tuple[str, bool, str]], alive: Sequence[tuple[str, bool, str]]
) -> Snapshot:
    """How this process is now, by its metrics and what it has processed last."""
    return Snapshot(
        name=name,
        at=now(),
        started=STARTED,
        ready=ready,
        alive=alive,
        lag=_lag(),
        events=RECENT.events(),
        dead_letters=RECENT.dead_letters(),
        open_letters=[
            OpenLetters(sample.labels["service"], sample.labels["topic"], int(sample.value))
            for metric in DEAD_LETTERS_OPEN.collect()
            for sample in metric.samples
            if sample.value
        ],
    )


def page(shown: Snapshot) -> bytes:
    """The snapshot as an HTML document in UTF-8."""
    ready = all(well for _, well, _ in shown.ready)
    alive = all(well for _, well, _ in shown.alive)
    state = _marked(ready and alive, "ready" if ready and alive else "not ready")
    name = escape(shown.name)
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{name} – Benanza</title>",
        '<meta name=viewport content="width=device-width, initial-scale=1">',
        f"<meta http-equiv=refresh content={REFRESH_S}><style>{STYLE}</style>",
        f"<h1>{name} <small>{state}</small></h1>",
        f"<p class=muted>Benanza {escape(version('benanza'))}, Python {python_version()}, "
        f"process {os.getpid()} on {escape(node())}, up for {_span(shown.at - shown.started)}; "
        f"as of {shown.at:%Y-%m-%d %H:%M:%S} UTC</p>",
        "<nav><a href=/metrics>metrics</a><a href=/readyz>readyz</a>"
        "<a href=/healthz>healthz</a></nav>",
        "<h2>Checks</h2>",
        _table(
            ("check", "", "detail"),
            [
                (
                    _short(check),
                    f"<td class=short>{_marked(well, 'ok' if well else 'failed')}",
                    _text(detail),
                )
                for check, well, detail in (*shown.ready, *shown.alive)
            ],
        ),
        "<h2>What waits</h2>",
        _table(
            ("group", "topic", "#records", "oldest in work"),
            [
                (
                    _short(lag.group),
                    _short(lag.topic),
                    _number(lag.records),
                    _short(f"{_span(shown.at - lag.oldest)} old" if lag.oldest else ""),
                )
                for lag in shown.lag
            ],
            "no partition is held here",
        ),
        "<h2>Dead letters</h2>",
        *(
            f"<p class=bad>{letters.letters:,} open of {escape(letters.service)} from "
            f"{escape(letters.topic)}: <code>"
            f"{escape(pasteable('benanza', 'dead-letters', 'list', '--service', letters.service))}"
            "</code></p>"
            for letters in shown.open_letters
        ),
        _table(
            ("at (UTC)", "group", "record", "event", "model", "id", "reason"),
            [
                (*_event(letter), _code(letter.dead_letter_id[:ID_DIGITS]), _text(letter.failure))
                for letter in shown.dead_letters
            ],
            "this process has made none",
        ),
        "<h2>Last events</h2>",
        _table(
            ("at (UTC)", "group", "record", "event", "model", "key"),
            [(*_event(processed), _code(_key(processed.record.key))) for processed in shown.events],
            "this process has processed none",
        ),
        "</html>",
    ]
    return "\n".join(parts).encode()


def _lag() -> list[Lag]:
    records: Counter[tuple[str, str]] = Counter()
    for metric in CONSUMER_LAG.collect():
        for sample in metric.samples:
            records[sample.labels["group"], sample.labels["topic"]] += int(sample.value)
    oldest = {
        (sample.labels["group"], sample.labels["topic"]): datetime.fromtimestamp(sample.value, UTC)
        for metric in OLDEST_UNPROCESSED.collect()
        for sample in metric.samples
    }
    return [Lag(*key, number, oldest.get(key)) for key, number in sorted(records.items())]


def _event(processed: Processed) -> tuple[str, ...]:
    place = processed.record.partition
    return (
        _short(f"{processed.at:%H:%M:%S}"),
        _short(processed.group),
        _short(f"{place.topic}:{place.number}:{processed.record.offset}"),
        _short(processed.event or "no event"),
        _short(_shortened(processed.model)),
    )


def _table(titles: Iterable[str], rows: Sequence[Sequence[str]], none: str = "") -> str:
    """Rows of cells; a title that begins with # is of numbers."""
    if not rows:
        return f"<p class=muted>{none}</p>"
    head = "".join(
        f"<th class=number>{title[1:]}" if title.startswith("#") else f"<th>{title}"
        for title in titles
    )
    body = "".join(f"<tr>{''.join(row)}" for row in rows)
    return f"<div class=wide><table><tr>{head}{body}</table></div>"


def _text(text: str) -> str:
    return f"<td>{_printable(text)}"


def _short(text: str) -> str:
    return f"<td class=short>{_printable(text)}"


def _code(text: str) -> str:
    return f"<td class=short><code>{_printable(text)}</code>"


def _number(number: int) -> str:
    return f"<td class=number>{number:,}"


def _marked(well: bool, text: str) -> str:
    return f"<span class={'ok' if well else 'bad'}>{text}</span>"


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


def _printable(text: str) -> str:
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape("".join(shown))


def _key(key: bytes) -> str:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return key.hex()
    return text if text.isprintable() else key.hex()


def _span(time: timedelta) -> str:
    """A length of time as people say it, in its two largest units."""
    seconds = max(0, round(time.total_seconds()))
    for unit, length, smaller, of in (("d", 86400, "h", 3600), ("h", 3600, "min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit} {seconds % length // of} {smaller}"
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
