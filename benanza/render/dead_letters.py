"""Dead letters, for people."""

import json

from rich.console import Console
from rich.text import Text

from benanza.render.table import Column, printable, prose, table
from benanza.render.units import plural
from benanza.results.dead_letters import DeadLetterContent, DeadLetters, DeadLetterSummary

COLUMNS = (
    Column("id", "left"),
    Column("failed at (UTC)", "left", spare=2),
    Column("service", "left"),
    Column("record", "left", spare=1),
    Column("state", "left"),
    prose("reason"),
)

SHOWN = 2000
"""Characters of a value that is no event, and of each text in an event."""


def print_dead_letters(console: Console, letters: DeadLetters) -> None:
    """Prints a line for each, newest first, and how many are not shown."""
    rows = [_row(letter) for letter in letters.dead_letters]
    if rows:
        console.print(table(COLUMNS, rows, plain=not console.is_terminal))
        console.print(Text(printable(f"in {letters.log}")))
    else:
        console.print(Text(printable(f"no dead letters in {letters.log}")))
    if left := letters.found - len(rows):
        console.print(f"and {left:,} more; --limit shows them")
    if letters.unreadable:
        console.print(
            f"{plural(letters.unreadable, 'record')} of the topic can't be read; upgrade benanza"
        )


def print_dead_letter(console: Console, content: DeadLetterContent) -> None:
    """Prints all that is known of one."""
    letter = content.dead_letter
    cut = ", cut off" if letter.truncated else ""
    lines = [
        f"id         {letter.id}",
        f"service    {letter.service}",
        f"record     {_record(letter)}, {plural(letter.bytes, 'byte')}{cut}",
        f"key        {letter.key}",
        f"failed at  {letter.failed_at:%Y-%m-%d %H:%M:%S} UTC",
        f"state      {_state(letter)}",
        f"reason     {letter.reason}",
    ]
    for line in lines:
        console.print(Text(printable(line)))
    if content.event is None:
        shown = content.hex[:SHOWN] + ("…" if len(content.hex) > SHOWN else "")
        console.print(Text(f"\nno event: {printable(content.undecodable)}; in hexadecimal:"))
        console.print(Text(shown))
    else:
        console.print()
        console.print(Text(json.dumps(_shortened(content.event), indent=2)))


def _row(letter: DeadLetterSummary) -> tuple[str, ...]:
    failed_at = f"{letter.failed_at:%Y-%m-%d %H:%M:%S}"
    state = _state(letter)
    return (letter.id, failed_at, letter.service, _record(letter), state, letter.reason)


def _record(letter: DeadLetterSummary) -> str:
    return f"{letter.topic}:{letter.partition}:{letter.offset}"


def _state(letter: DeadLetterSummary) -> str:
    settled_at = letter.settled_at
    return letter.state if settled_at is None else f"{letter.state} {settled_at:%Y-%m-%d %H:%M:%S}"


def _shortened(part: object) -> object:
    """An event with its long texts, such as a model's bytes, cut short."""
    match part:
        case dict():
            return {name: _shortened(item) for name, item in part.items()}
        case list():
            return [_shortened(item) for item in part]
        case str() if len(part) > SHOWN:
            return f"{part[:SHOWN]}… ({len(part):,} characters; --format json has them all)"
    return part
