"""`benanza bounds`: the bounds now, or as they were."""

import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, cast, get_args

import click
from click.shell_completion import CompletionItem

from benanza.commands import completing
from benanza.commands.options import (
    PARTIAL,
    Format,
    KnownModel,
    Time,
    data_option,
    dim_filter_option,
    fail_without,
    format_option,
    none_with,
    policy_filter_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.explain import NONE_SUCH
from benanza.render.bounds import NONE_KNOWN, print_known_bounds
from benanza.render.table import console
from benanza.request import BoundPolicy, Other
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision


class Different(click.ParamType):
    """What is different on the other side of a comparison."""

    name = "at=TIME|precision=P|system=ID"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Other:
        """`precision=bf16` as `Other(precision="bf16")`."""
        if isinstance(value, Other):
            return value
        what, _, which = value.partition("=")
        if what == "at" and which:
            return Other(at=Time().convert(which, param, ctx))
        if what == "precision" and which in get_args(Precision):
            return Other(precision=cast(Precision, which))
        if what != "system" or not which:
            self.fail(f"{value!r} is none of {self.name}", param, ctx)
        return Other(system=which)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Precisions, and the systems that are known."""
        what, is_named, which = incomplete.partition("=")
        choices = ["at=", *(f"precision={precision}" for precision in get_args(Precision))]
        if is_named and what == "system":
            systems = completing.known_systems(ctx, which)
            choices = [f"system={system.value}" for system in systems]
        return completing.beginning(incomplete, [*choices, *([] if is_named else ["system="])])


@click.command()
@click.argument("models", type=KnownModel(), nargs=-1, metavar="[MODEL]...")
@click.option(
    "--at",
    type=Time(),
    help="Bounds as they were known here at this time; UTC if it has no zone. What was imported "
    "later doesn't count, however long ago it was measured.",
)
@click.option(
    "--compare",
    "other",
    type=Different(),
    help="Beside them those at another time, at another precision, or on another system, and what "
    "makes the difference.",
)
@click.option(
    "--on",
    "specification",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="SPEC.toml",
    help="In their place those that are predicted for the GPU that this file describes, from what "
    "was measured on others.",
)
@dim_filter_option
@policy_filter_options
@data_option
@format_option
@click.pass_context
def bounds(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    at: datetime | None,
    other: Other | None,
    specification: Path | None,
    dims: tuple[tuple[str, int], ...],
    policy: BoundPolicy,
    data: Path | None,
    output: Format,
) -> None:
    """The bounds known now, or as they were known at a time.

    Those of each MODEL, or of all. A MODEL may also be a name or an id that a table of bounds
    shows. Nothing is benchmarked.

    \b
    Examples:
      benanza bounds
      benanza bounds resnet50.onnx --accounting paper
      benanza bounds bert.onnx --dim sequence=128
      benanza bounds --at 2026-11-21T12:00 --format json
      benanza bounds --precision fp16 --compare precision=bf16
      benanza bounds --compare at=2026-11-21T12:00
      benanza bounds --compare system=16a282
      benanza bounds --precision fp16 --on a100.toml
    """
    from benanza.looking.bounds import known_bounds

    if specification is not None:
        if at is not None or other is not None:
            raise click.UsageError(
                "--on predicts from what is known now; leave out --at and --compare"
            )
        if _predict(settings_of(data), models, policy, dict(dims), specification, output):
            ctx.exit(PARTIAL)
        return
    if other is not None:
        if _compare(settings_of(data), models, policy, dict(dims), at, other, output):
            ctx.exit(PARTIAL)
        return
    known = known_bounds(settings_of(data), models, policy, dict(dims), at)
    if output == "json":
        print_json(known)
    why = NONE_SUCH if policy.system or policy.precisions else NONE_KNOWN
    if at is not None:
        why = f"no bounds were known at {at.isoformat()}; leave out --at for those known now"
    elif dims:
        why = none_with(dims)
    waiting = range(known.waiting_for_ingest)
    fail_without([*known.bounds, *known.without_bound, *waiting], why, output)
    if output == "text":
        print_known_bounds(console(sys.stdout), known)
    if any(bound.partial for bound in known.bounds):
        ctx.exit(PARTIAL)


def _predict(
    settings: Settings,
    models: tuple[str, ...],
    policy: BoundPolicy,
    dims: Mapping[str, int],
    specification: Path,
    output: Format,
) -> bool:
    """Prints bounds that are predicted for a GPU; whether one of them is partial."""
    from benanza.predicting.known import known_predictions
    from benanza.predicting.specification import read_specification
    from benanza.render.answers.predicted import print_predictions

    target = read_specification(specification)
    predictions = known_predictions(settings, models, policy, dims, target)
    if output == "json":
        print_json(predictions)
    else:
        print_predictions(console(sys.stdout), predictions)
    return any(bound.partial for bound in predictions.predicted)


def _compare(
    settings: Settings,
    models: tuple[str, ...],
    policy: BoundPolicy,
    dims: Mapping[str, int],
    at: datetime | None,
    other: Other,
    output: Format,
) -> bool:
    """Prints a comparison; whether a bound in it is partial."""
    from benanza.looking.compare import known_comparison
    from benanza.render.comparison import print_comparison

    comparison = known_comparison(settings, models, policy, dims, at, other)
    if output == "json":
        print_json(comparison)
    else:
        print_comparison(console(sys.stdout), comparison)
    return any(compared.bound.partial or compared.other.partial for compared in comparison.bounds)
