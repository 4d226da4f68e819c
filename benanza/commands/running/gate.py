"""`benanza gate`: whether runs are near enough to their bounds, and as fast as before."""

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benanza.commands.options import (
    FAILED,
    PARTIAL,
    FiniteNumber,
    Format,
    KnownModel,
    Time,
    batch_option,
    data_option,
    dim_option,
    format_option,
    precision_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.gate import print_gate
from benanza.render.progress import progress_on
from benanza.render.table import console
from benanza.request import BoundPolicy, RunRequest
from benanza_schemas.layer import Precision

if TYPE_CHECKING:
    from benanza.gating.baseline import InRevision

STATUSES = {"fails": FAILED, "unknown": PARTIAL}
"""Of the verdicts that don't pass."""


class Baseline(click.ParamType):
    """A file of `benanza gate --format json`, such a file in a revision, or a time."""

    name = "FILE|REV:FILE|TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Path | InRevision | datetime":
        """A file that is there as its path; else a time, or with a colon a file in a revision."""
        from benanza.gating.baseline import InRevision, document

        if isinstance(value, Path | InRevision | datetime):
            return value
        named = document(value)
        if os.path.exists(value):  # noqa: PTH110  # which raises nothing
            return named
        try:
            return Time().convert(value, param, ctx)
        except click.BadParameter:
            if isinstance(named, InRevision):
                return named
            self.fail(
                f"{value!r} is no file that is there, and no time; name a document in a Git "
                "revision as REV:FILE, such as main:gate.json",
                param,
                ctx,
            )


@click.command()
@click.argument("models", type=KnownModel(), nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "--max-ratio",
    type=FiniteNumber(min_open=True),
    help="Fails where a run takes more than so many times as long as the model's bound.",
)
@click.option(
    "--no-slower-than",
    type=Baseline(),
    help="Fails where a run takes longer than before: than in a file that --format json printed, "
    "which may be one of a Git revision such as main:gate.json, or than the last one that was "
    "stored by a time such as 2026-11-21T12:00.",
)
@click.option(
    "--stored",
    is_flag=True,
    help="Takes the fastest configuration of the runs that are stored, and runs nothing.",
)
@click.option(
    "--framework",
    default="onnxruntime",
    metavar="NAME",
    help="What runs the models: onnxruntime, pytorch, or one that another package brings.",
    show_default=True,
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also writes what comes of it as JUnit's XML.",
)
@batch_option
@dim_option
@precision_option
@data_option
@format_option
@click.pass_context
def gate(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    max_ratio: float | None,
    no_slower_than: "Path | InRevision | datetime | None",
    stored: bool,
    framework: str,
    junit: Path | None,
    batch_sizes: tuple[int, ...],
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    data: Path | None,
    output: Format,
) -> None:
    """Checks each MODEL's run against limits, for CI.

    Each model is run five times in a framework, as benanza profile runs it, and has a line. A limit
    fails only where all five, with the spread of what they stand beside, are above it: so noise
    fails it seldom.

    Exit status: 0 all limits hold, or lie within the noise; 1 one fails; 3 one can't be checked.

    \b
    Examples:
      benanza run model.onnx && benanza gate model.onnx --max-ratio 1.3
      benanza gate model.onnx --max-ratio 1.3 --junit gate.xml
      benanza gate model.onnx --max-ratio 2 --format json > main.json
      benanza gate model.onnx --no-slower-than main.json
      benanza gate model.onnx --no-slower-than HEAD~1:gate.json
      benanza gate model.onnx --stored --max-ratio 1.3 --precision fp16
    """
    from benanza.gating.gate import GateLimits
    from benanza.gating.gate import gate as check_runs
    from benanza.gating.junit import write_junit
    from benanza.writable import check_writable

    if max_ratio is None and no_slower_than is None:
        raise click.UsageError("give --max-ratio, --no-slower-than, or both")
    if junit is not None:
        check_writable(junit)
    request = RunRequest(
        models=models, batch_sizes=batch_sizes, dims=dict(dims), policy=BoundPolicy(precisions)
    )
    with progress_on(sys.stderr) as progress:
        checked = check_runs(
            request,
            framework,
            GateLimits(max_ratio, no_slower_than),
            settings_of(data),
            stored=stored,
            progress=progress,
        )
    if output == "json":
        print_json(checked)
    else:
        print_gate(console(sys.stdout), checked)
    if junit is not None:
        write_junit(checked, junit)
    for failed in checked.errors:
        click.echo(f"error: {failed.reason}", err=True)
    if checked.verdict in STATUSES:
        ctx.exit(STATUSES[checked.verdict])
