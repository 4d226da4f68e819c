"""`benanza what-if`: what a bound would be under other policies."""

import sys
from pathlib import Path

import click

from benanza.commands.deriving import QUANTISED, QuantisedTypes
from benanza.commands.options import (
    Format,
    data_option,
    dim_filter_option,
    fail_without,
    format_option,
    known_model_argument,
    precision_filter_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.explain import NONE_SUCH
from benanza.render.answers.what_if import print_what_ifs
from benanza.render.table import console
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.layer import Precision


@click.command("what-if")
@known_model_argument
@dim_filter_option
@precision_filter_option
@click.option(
    "--quantised",
    type=QuantisedTypes(),
    default=(),
    help=f"Instead: what weights of these types would be worth, product by product "
    f"({', '.join(QUANTISED)}).",
)
@data_option
@format_option
def what_if(
    *,
    model: str,
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    system: str,
    quantised: tuple[Quantised, ...],
    data: Path | None,
    output: Format,
) -> None:
    """What the bounds of MODEL would be under other policies.

    Each is planned anew as a whole from what was measured: without fusion, as libraries' heuristics
    choose, with calls of libraries alone, with feature maps in one layout, at another precision.
    What makes no difference is left out. Where bounds are known at several batch sizes, it also
    says what a sample takes at each, and from which size on a larger batch no longer pays. MODEL
    may also be a name or an id that a table of bounds shows. Nothing is benchmarked.

    With --quantised, the bound of the model in floats stands beside that which `benanza run
    --quantised` found of it with other weights: what is saved, and by which products. A type of
    weights says nothing of how good the model's answers are then.

    \b
    Examples:
      benanza what-if resnet50.onnx
      benanza what-if llama.onnx --precision fp16 --quantised int4,int8
      benanza what-if zoo:squeezenet --precision fp16 --format json
    """
    if quantised:
        _quantised(model, dict(dims), precisions, system, quantised, data, output)
        return
    from benanza.looking.what_if import known_what_ifs

    what_ifs = known_what_ifs(settings_of(data), [model], precisions, dict(dims), system)
    if output == "json":
        print_json(what_ifs)
    fail_without(what_ifs.models, NONE_SUCH, output)
    if output == "text":
        print_what_ifs(console(sys.stdout), what_ifs)


def _quantised(
    model: str,
    dims: dict[str, int],
    precisions: tuple[Precision, ...],
    system: str,
    quantised: tuple[Quantised, ...],
    data: Path | None,
    output: Format,
) -> None:
    from benanza.quantised.known import known_quantisations
    from benanza.render.answers.quantised import print_quantisations

    worths = known_quantisations(settings_of(data), model, quantised, precisions, dims, system)
    if output == "json":
        print_json(worths)
    fail_without([*worths.worths, *worths.to_run], NONE_SUCH, output)
    if output == "text":
        print_quantisations(console(sys.stdout), worths)
