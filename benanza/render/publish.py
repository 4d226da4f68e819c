"""What was published, for people."""

from rich.console import Console
from rich.table import Table

from benanza.render.table import Column, html, names, prose, table
from benanza.results.publish import Published, PublishedModel

COLUMNS = (
    names("model"),
    Column("zoo", "left", spare=1),
    Column("batch", "left"),
    Column("sha256", "left", spare=2),
    prose("file"),
)


def print_published(console: Console, published: Published) -> None:
    """Prints a line for each model."""
    console.print(_table(published, plain=not console.is_terminal))


def published_html(published: Published) -> str:
    """The same for a notebook."""
    return html([_table(published, plain=False)])


def _table(published: Published, *, plain: bool) -> Table:
    return table(COLUMNS, [_row(model) for model in published.models], plain=plain)


def _row(model: PublishedModel) -> tuple[str, ...]:
    batch = ",".join(map(str, model.batch_sizes)) or "its own"
    where = "in the event" if model.inline else model.uri
    return (model.name, model.zoo, batch, model.sha256[:12], where)
