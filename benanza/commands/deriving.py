"""Options that say what is to be made of models: quantised, or split over GPUs."""

from functools import wraps
from typing import Any, cast, get_args

import click
from click.shell_completion import CompletionItem

from benanza.commands import completing
from benanza.commands.options import Command, Positive
from benanza_schemas.events.derivation import Derivation, Quantised

QUANTISED: tuple[Quantised, ...] = tuple(filter(None, get_args(Quantised)))


class QuantisedTypes(click.ParamType):
    """Types that weights may be given, separated by commas."""

    name = "T[,T…]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Quantised, ...]:
        """`int4,int8` as `("int4", "int8")`, each once."""
        if isinstance(value, tuple):
            return value
        for part in value.split(","):
            if part not in QUANTISED:
                self.fail(f"{part!r} is none of {', '.join(QUANTISED)}", param, ctx)
        return tuple(dict.fromkeys(value.split(",")))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The last of the list, one that isn't in it yet."""
        return completing.last_of(incomplete, QUANTISED)


def derivations_option(command: Command) -> Command:
    """--quantised T[,T…] and --tensor-parallel N[,N…], as the argument `derivations`."""

    @wraps(command)
    def with_derivations(
        *args: Any,
        quantised: tuple[Quantised, ...],
        tensor_parallel: tuple[int, ...],
        **others: Any,
    ) -> Any:
        from benanza.request import derivations

        return command(*args, derivations=derivations(quantised, tensor_parallel), **others)

    types = click.option(
        "--quantised",
        type=QuantisedTypes(),
        default=(),
        help=f"Also with weights of these types ({', '.join(QUANTISED)}), each as a model of its "
        "own, such as 'NAME int4'.",
    )
    gpus = click.option(
        "--tensor-parallel",
        type=Positive(),
        default=(),
        help="Also split over so many GPUs, as a model of its own, such as 'NAME on 2 GPUs'.",
    )
    return cast(Command, types(gpus(with_derivations)))


def derivation_option(command: Command) -> Command:
    """--quantised T and --tensor-parallel N, as the argument `derivation`."""

    @wraps(command)
    def with_derivation(
        *args: Any, quantised: Quantised | None, tensor_parallel: int, **others: Any
    ) -> Any:
        return command(*args, derivation=Derivation(quantised or "", tensor_parallel), **others)

    of_type = click.option(
        "--quantised",
        type=click.Choice(QUANTISED),
        help="What becomes of it with weights of this type.",
    )
    gpus = click.option(
        "--tensor-parallel",
        type=click.IntRange(min=1),
        default=1,
        help="What one of so many GPUs runs of it.",
    )
    return cast(Command, of_type(gpus(with_derivation)))
