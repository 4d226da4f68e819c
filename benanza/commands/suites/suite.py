"""`benanza suite`: networks that make up models, to be timed elsewhere."""

import subprocess
import sys
from pathlib import Path

import click

from benanza.commands.options import (
    FAILED,
    PARTIAL,
    Command,
    Format,
    Model,
    data_option,
    dim_option,
    format_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.table import console
from benanza.suites.printing import print_imported, print_latencies, print_written


@click.group()
def suite() -> None:
    """Networks that make up models, to be timed elsewhere.

    A model is split into networks of at most G layers; each is timed once, and a model's latency is
    the sum, as in DLBricks. A suite holds no names, no weights, and not the order that networks
    have in a model. It runs wherever NumPy and ONNX Runtime are.

    \b
    Examples:
      benanza suite export suite.zip mine.onnx -G 4 --dummies 20
      benanza suite run suite.zip results.json
      benanza suite import results.json
      benanza suite latency mine.onnx -G 4
    """


def models_argument(command: Command) -> Command:
    """MODEL..."""
    return click.argument("models", type=Model(), nargs=-1, required=True, metavar="MODEL...")(
        command
    )


def split_options(command: Command) -> Command:
    """--granularity and --batch."""
    granularity = click.option(
        "-G",
        "--granularity",
        type=click.IntRange(min=1),
        default=4,
        help="The most layers of a network.",
        show_default=True,
    )
    batch = click.option(
        "--batch",
        type=click.IntRange(min=1),
        help="The batch size; by default the model's own, and 1 where it leaves that open.",
    )
    return granularity(batch(dim_option(command)))


@suite.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@models_argument
@split_options
@click.option(
    "--dummies",
    type=click.IntRange(min=0),
    default=0,
    help="So many networks of other models among them.",
    show_default=True,
)
@click.option("--seed", type=int, default=0, help="For the order and the choice of dummies.")
@format_option
def export(
    *,
    file: Path,
    models: tuple[str, ...],
    granularity: int,
    batch: int | None,
    dims: tuple[tuple[str, int], ...],
    dummies: int,
    seed: int,
    output: Format,
) -> None:
    """Writes the networks of each MODEL into FILE, an archive."""
    from benanza.suites.export_suite import export_suite
    from benanza_ingest.limits import limits_of

    written = export_suite(
        file, models, granularity, batch, dict(dims), dummies, seed, limits_of(settings_of(None))
    )
    if output == "json":
        print_json(written)
    else:
        print_written(written, file)


@suite.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.pass_context
def run(ctx: click.Context, file: Path, results: Path, threads: int) -> None:
    """Times the networks of FILE here, and writes RESULTS: what its run.py does."""
    from benanza_runner.onnxruntime import network_timer

    # A process of its own, since the treatment of denormal numbers is that of a whole process.
    script = str(network_timer.__file__)
    command = [sys.executable, script, str(file), str(results), str(threads)]
    if subprocess.run(command, check=False).returncode:
        click.echo(f"error: {file} could not be run; export it again", err=True)
        ctx.exit(FAILED)


@suite.command("import")
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@data_option
@format_option
def import_(results: Path, data: Path | None, output: Format) -> None:
    """Takes RESULTS into the log: the embedded one, or that of the Kafka that BENANZA_KAFKA names.

    The file says on which CPU, with how many threads and which ONNX Runtime they were measured.
    """
    from benanza.suites.import_results import import_results

    imported = import_results(results, settings_of(data))
    if output == "json":
        print_json(imported)
    else:
        print_imported(imported)


@suite.command()
@models_argument
@split_options
@data_option
@format_option
@click.pass_context
def latency(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    granularity: int,
    batch: int | None,
    dims: tuple[tuple[str, int], ...],
    data: Path | None,
    output: Format,
) -> None:
    """How long each MODEL takes, by the times of its networks: one after the other, and where those
    run at the same time that don't wait for each other.

    Exits with 3 if some network has no time.
    """
    from benanza.suites.latencies import constructed_latencies

    constructed = constructed_latencies(models, granularity, batch, dict(dims), settings_of(data))
    if output == "json":
        print_json(constructed)
    else:
        print_latencies(console(sys.stdout), constructed)
    if any(model_latency.lacking for model_latency in constructed.latencies):
        ctx.exit(PARTIAL)
