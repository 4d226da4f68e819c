"""Arguments and options that several commands share."""

import json
import math
from collections.abc import Callable, Sized
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import click
from click.shell_completion import CompletionItem

from benanza.commands import completing
from benanza.results.result import Result
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.given_values import given, read
from benanza_schemas.layer import Accounting, Precision

FAILED = 1
PARTIAL = 3
"""Exit statuses: what was asked for failed; it was done, and some bound is partial, or all layers
of an inspected model are skipped.
"""

Format = Literal["text", "json"]
Command = TypeVar("Command", bound=Callable[..., Any])


def none_with(dims: tuple[tuple[str, int], ...]) -> str:
    """What to say where no bound has the dimensions and values that are asked for."""
    from benanza.render.units import named_sizes

    return (
        f"no bounds are known with {named_sizes(dict(dims))}; leave out --batch, --dim and --value"
    )


class Model(click.ParamType):
    """A path, a `file:`, `http:`, `https:` or `s3:` address, or `zoo:NAME`."""

    name = "model"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files, and models of the zoo."""
        return completing.models(incomplete)


class KnownModel(Model):
    """A model as ever, or by a name or an id that a table of bounds shows."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The same, and the names of those that are known."""
        return completing.known_models(ctx, incomplete)


class SystemId(click.ParamType):
    """The id of a system, or the first digits of it."""

    name = "ID"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Those that are known."""
        return completing.known_systems(ctx, incomplete)


class Positive(click.ParamType):
    """Whole numbers from 1, separated by commas."""

    name = "N[,N…]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """`1,8` as `(1, 8)`, each number once."""
        if isinstance(value, tuple):
            return value
        return tuple(dict.fromkeys(self._number(part, param, ctx) for part in value.split(",")))

    def _number(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(text)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{text!r} is not a whole number from 1", param, ctx)
        return number


class TokenRange(click.ParamType):
    """A number of tokens from 1, or the least and the most of it: `64-512`."""

    name = "N[-N]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """`64-512` as `(64, 512)`, `64` as `(64, 64)`."""
        if isinstance(value, tuple):
            return value
        least, dash, most = value.partition("-")
        numbers = (least, most if dash else least)
        if not all(number.isdecimal() for number in numbers):
            self.fail(f"{value!r} is no number of tokens, and no LEAST-MOST of two", param, ctx)
        found = int(numbers[0]), int(numbers[1])
        if not 1 <= found[0] <= found[1]:
            self.fail(f"{value!r} is not in order from 1 on", param, ctx)
        return found


class FiniteNumber(click.FloatRange):
    """A number from 0 up, or above 0 if `min_open`, to `most` if given; it is finite."""

    def __init__(self, *, min_open: bool = False, most: float | None = None) -> None:
        super().__init__(min=0, min_open=min_open, max=most)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(click.FLOAT.convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return float(super().convert(value, param, ctx))


class RuntimeName(click.ParamType):
    """The name of a runtime that is installed. They are looked up when the option is read."""

    name = "runtime"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is."""
        known = self._known()
        if value not in known:
            self.fail(f"{value!r} is not one of {', '.join(map(repr, known))}.", param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin like this."""
        return completing.beginning(incomplete, self._known())

    @staticmethod
    def _known() -> tuple[str, ...]:
        from benanza_runner.runtimes import runtime_names

        return runtime_names()


class Dimension(click.ParamType):
    """The value of a named dimension."""

    name = "NAME=N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """`sequence=128` as `("sequence", 128)`."""
        if isinstance(value, tuple):
            return value
        name, _, number = value.rpartition("=")
        if not name or not number.isdecimal():
            self.fail(f"{value!r} is not NAME=N with N a whole number from 0", param, ctx)
        return name, int(number)


class Sizes(click.ParamType):
    """One or several sizes of a named dimension, or an expression of others."""

    name = "NAME=N[,N…]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...] | str]:
        """`past=1024,4096` as `("past", (1024, 4096))`, `total=past+1` as `("total", "past+1")`."""
        if isinstance(value, tuple):
            return value
        name, _, listed = value.rpartition("=")
        numbers = listed.split(",")
        if name and all(number.isdecimal() for number in numbers):
            return name, tuple(dict.fromkeys(map(int, numbers)))
        if not name or len(numbers) > 1 or not any(sign in listed for sign in "+-*/"):
            self.fail(f"{value!r} is not NAME=N[,N…] with whole numbers from 0", param, ctx)
        return name, listed


class Value(click.ParamType):
    """The elements of a small input."""

    name = "NAME=VALUE[,VALUE…]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """`sr=16000` as the entry of `given_values` for it."""
        if isinstance(value, tuple):
            return value
        try:
            name, elements = read(value)
        except ValueError as error:
            self.fail(f"{error}: give numbers, true or false, as in sr=16000", param, ctx)
        return next(iter(given({name: elements}).items()))


class Precisions(click.ParamType):
    """Names of precisions, separated by commas."""

    name = "P[,P…]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Precision, ...]:
        """`fp32,fp16` as `("fp32", "fp16")`, each once."""
        if isinstance(value, tuple):
            return value
        known = get_args(Precision)
        for part in value.split(","):
            if part not in known:
                self.fail(f"{part!r} is none of {', '.join(known)}", param, ctx)
        return tuple(dict.fromkeys(value.split(",")))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The last of the list, one that isn't in it yet."""
        return completing.last_of(incomplete, get_args(Precision))


class Time(click.ParamType):
    """A date and time as in ISO 8601; UTC if it names no zone."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """`2026-11-21T12:00` as noon on that day, UTC."""
        if isinstance(value, datetime):
            return value
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is no time such as 2026-11-21T12:00 or 2026-11-21", param, ctx)
        return time if time.tzinfo else time.replace(tzinfo=UTC)


def model_argument(command: Command) -> Command:
    """MODEL."""
    return click.argument("model", type=Model())(command)


def known_model_argument(command: Command) -> Command:
    """MODEL, of which something is known."""
    return click.argument("model", type=KnownModel())(command)


def dim_option(command: Command) -> Command:
    """--dim NAME=N and --value NAME=VALUE, any number of times."""
    return _dims(
        "Binds a dimension of the model: one with a name, or any open one as INPUT[AXIS].",
        "What a small input holds, such as a sample rate that decides a branch: sr=16000.",
    )(command)


def dim_sweep_option(command: Command) -> Command:
    """The same, where --dim may have several sizes."""
    return _dims(
        "Binds a dimension of the model: one with a name, or any open one as INPUT[AXIS]. Several "
        "sizes are a sweep: each combination has a bound. total=past+1 follows from others.",
        "What a small input holds, such as a sample rate that decides a branch: sr=16000.",
        Sizes(),
    )(command)


def dim_filter_option(command: Command) -> Command:
    """The same, for which of a model's bounds are meant; and --batch N, as that dimension."""

    @wraps(command)
    def with_batch(
        *args: Any, dims: tuple[tuple[str, int], ...], batch: int | None, **others: Any
    ) -> Any:
        return command(*args, dims=(*dims, *([("batch", batch)] if batch else [])), **others)

    of_batch = click.option(
        "--batch", type=click.IntRange(min=1), metavar="N", help="Only at this batch size."
    )
    return _dims(
        "Only where a named dimension is bound so; batch is the batch size.",
        "Only where an input was given this value.",
    )(of_batch(cast(Command, with_batch)))


def system_option(command: Command) -> Command:
    """--system ID."""
    return click.option(
        "--system",
        type=SystemId(),
        default="",
        help="Only on this system: its id, or how it begins.",
    )(command)


def _dims(
    what: str, what_values: str, of_dim: click.ParamType | None = None
) -> Callable[[Command], Command]:
    """Both as the argument `dims`: values stand among the dimensions, as in `given_values`."""

    def options(command: Command) -> Command:
        @wraps(command)
        def with_values(
            *args: Any,
            dims: tuple[tuple[str, Any], ...],
            values: tuple[tuple[str, int], ...],
            **others: Any,
        ) -> Any:
            return command(*args, dims=(*dims, *values), **others)

        several = "May be given several times."
        dim = click.option(
            "--dim", "dims", type=of_dim or Dimension(), multiple=True, help=f"{what} {several}"
        )
        value = click.option(
            "--value", "values", type=Value(), multiple=True, help=f"{what_values} {several}"
        )
        return cast(Command, dim(value(with_values)))

    return options


def data_option(command: Command) -> Command:
    """--data DIR."""
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        help="The folder that holds events and measurements; by default that of BENANZA_DATA.",
    )(command)


def batch_option(command: Command) -> Command:
    """--batch N[,N…]."""
    return click.option(
        "--batch",
        "batch_sizes",
        type=Positive(),
        default=(),
        help="Batch sizes; by default the model's own, and 1 where it leaves that open.",
    )(command)


def precision_option(command: Command) -> Command:
    """--precision P[,P…]."""
    return click.option(
        "--precision",
        "precisions",
        type=Precisions(),
        default=("fp32",),
        help=f"{', '.join(PRECISIONS)}; fp32 by default.",
    )(command)


def policy_options(command: Command) -> Command:
    """--precision, --fusion and --accounting: which of a model's bounds are meant."""
    return precision_option(_counting_options(command))


def policy_filter_options(command: Command) -> Command:
    """The same for what is known, by default at each precision that was measured, and --system: as
    the argument `policy`.
    """

    @wraps(command)
    def with_policy(
        *args: Any,
        precisions: tuple[Precision, ...],
        fusion: bool,
        accounting: Accounting,
        system: str,
        **others: Any,
    ) -> Any:
        from benanza.request import BoundPolicy

        policy = BoundPolicy(precisions, fusion, accounting, system)
        return command(*args, policy=policy, **others)

    return precision_filter_option(_counting_options(cast(Command, with_policy)))


def precision_filter_option(command: Command) -> Command:
    """--precision P[,P…], by default each that was measured, and --system ID."""
    return click.option(
        "--precision",
        "precisions",
        type=Precisions(),
        default=(),
        help=f"{', '.join(PRECISIONS)}; by default all that were measured.",
    )(system_option(command))


def _counting_options(command: Command) -> Command:
    fusion = click.option(
        "--fusion",
        type=click.Choice(["on", "off"]),
        default="on",
        callback=lambda _ctx, _param, value: value == "on",
        help="Whether a group of layers may be counted as the one call that a library has for it.",
        show_default=True,
    )
    accounting = click.option(
        "--accounting",
        type=click.Choice(get_args(Accounting)),
        default="full",
        help="full: every layer, by its fastest kernel. paper: the operators that the 2020 paper "
        "lists, by calls of cuDNN and cuBLAS.",
        show_default=True,
    )
    return fusion(accounting(command))


def format_option(command: Command) -> Command:
    """--format text|json."""
    return click.option(
        "--format",
        "output",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Text for people, or one JSON document on standard output.",
        show_default=True,
    )(command)


def fail_without(known: Sized, why: str, output: Format) -> None:
    """Ends the command as one that failed, if nothing of what was asked for is known; `why` says
    what to do. A document says so by being empty.
    """
    if known:
        return
    if output == "text":
        click.echo(f"error: {why}", err=True)
    click.get_current_context().exit(FAILED)


def print_json(result: Result) -> None:
    """Prints the result's JSON document, and nothing else, on standard output."""
    click.echo(json.dumps(result.to_dict(), indent=2))
