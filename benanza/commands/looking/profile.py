"""`benanza profile`: how long a framework takes."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    FAILED,
    Format,
    Model,
    batch_option,
    data_option,
    dim_option,
    format_option,
    precision_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.profile import TOP, print_profiles
from benanza.render.progress import progress_on
from benanza.render.table import console
from benanza.request import BoundPolicy, RunRequest
from benanza.results.profile import Profiles
from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision


@click.command()
@click.argument("models", type=Model(), nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "--framework",
    default="onnxruntime",
    metavar="NAME",
    help="What runs the models: onnxruntime, openvino, pytorch, or one that another package "
    "brings.",
    show_default=True,
)
@click.option(
    "--all-configurations",
    is_flag=True,
    help="With everything that can be set in the framework, instead of its defaults.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=TOP,
    help="How many parts of each run to show.",
    show_default=True,
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also writes the calls in Chrome's trace format, for Perfetto and chrome://tracing.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="Also sends the calls as traces to the OpenTelemetry collector at this address.",
)
@batch_option
@dim_option
@precision_option
@data_option
@format_option
@click.pass_context
def profile(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    framework: str,
    all_configurations: bool,
    limit: int,
    trace: Path | None,
    otlp: str | None,
    batch_sizes: tuple[int, ...],
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    data: Path | None,
    output: Format,
) -> None:
    """Times each MODEL in a framework, call by call.

    Where the bound of the model on this device is known, it shows in which parts the bound saves
    time: between calls, in conversions, in calls that the bound joins, in slower calls. Whole runs
    are timed first, and then others in which each call is timed, so that what looking costs is
    seen. What was found is stored as an event.

    \b
    Examples:
      benanza run zoo:squeezenet && benanza profile zoo:squeezenet
      benanza profile resnet50.onnx --trace resnet50.json
      benanza profile resnet50.onnx --otlp http://localhost:4318
      benanza profile resnet50.onnx --all-configurations --format json
      benanza export resnet50 -o resnet50.onnx && benanza profile resnet50.onnx --framework pytorch
    """
    from benanza.profiling.profile import ProfileRequest
    from benanza.profiling.profile import profile as run_profile

    request = ProfileRequest(
        RunRequest(
            models=models,
            batch_sizes=batch_sizes,
            dims=dict(dims),
            policy=BoundPolicy(precisions),
        ),
        framework,
        all_configurations,
    )
    with progress_on(sys.stderr) as progress:
        profiles = run_profile(request, settings_of(data), progress)
    # Before anything is printed: whoever reads the pipe may be content with its first lines.
    if trace is not None:
        _write_trace(trace, profiles)
    if output == "json":
        print_json(profiles)
    else:
        print_profiles(console(sys.stdout), profiles, limit)
    if otlp is not None:
        _send_traces(otlp, profiles)
    for failed in profiles.errors:
        click.echo(f"error: {failed.reason}", err=True)
    if profiles.errors or any(run.failure for run in profiles.profiles):
        ctx.exit(FAILED)


def _write_trace(path: Path, profiles: Profiles) -> None:
    from benanza.profiling.chrome_trace import chrome_trace

    try:
        path.write_bytes(chrome_trace(profiles.profiles))
    except OSError as error:
        raise BenanzaError(f"can't write {path} ({error.strerror}); name another file") from error


def _send_traces(endpoint: str, profiles: Profiles) -> None:
    try:
        from benanza.profiling.otlp import send_traces
    except ImportError as error:
        raise BenanzaError(
            f"OpenTelemetry can't be loaded: {error}; say: pip install 'benanza[otlp]'"
        ) from error
    send_traces(profiles.profiles, endpoint)
