"""`benanza sql`: any question to the store."""

import sys
from pathlib import Path
from typing import Literal

import click

from benanza.commands.options import data_option
from benanza.commands.startup import settings_of
from benanza_backbone.errors import BenanzaError


@click.command()
@click.argument("sql")
@click.option(
    "--format",
    "output",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    help="A table for people, or all rows for programs: json is one list of objects.",
    show_default=True,
)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write, in a format for programs; by default they go to standard output.",
)
@data_option
def sql(
    *,
    sql: str,
    output: Literal["table", "csv", "json", "parquet"],
    out: Path | None,
    data: Path | None,
) -> None:
    """What a statement in SQL returns that asks the store.

    It only reads: one that would change something is refused. The tables and views are described
    in docs/clickhouse.md; SHOW TABLES lists them, and DESCRIBE TABLE says what a column means. On a
    terminal, columns that there is no room for are left out.

    \b
    Examples:
      benanza sql "SELECT model, precision, sequential_us FROM current_bounds"
      benanza sql "DESCRIBE TABLE current_bounds"
      benanza sql "SELECT * FROM bound_layers WHERE model = 'resnet50'" --format csv -o layers.csv
      benanza sql "SELECT * FROM measurements FINAL" --format parquet -o measurements.parquet
    """
    from benanza.querying.shown_rows import first_rows, print_rows
    from benanza.querying.statement import write_answer
    from benanza.render.table import console

    if output == "table":
        if out is not None:
            raise click.UsageError("-o takes a format for programs, such as --format csv")
        print_rows(console(sys.stdout), first_rows(settings_of(data), sql))
        return
    if output == "parquet" and out is None and sys.stdout.isatty():
        raise BenanzaError("Parquet isn't for a terminal; give -o FILE")
    write_answer(settings_of(data), sql, output, out, click.get_binary_stream("stdout"))
