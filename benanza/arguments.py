"""The arguments of the Python API, checked before anything is done with them.

Each function takes the argument's name for its message, and raises `BenanzaError` that says
what was given and what may be.
"""

import math
import operator
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar, get_args

from benanza.evaluating.request import SCENARIOS, Scenario
from benanza_backbone.errors import BenanzaError
from benanza_schemas import given_values
from benanza_schemas.events.derivation import Derivation, Quantised
from benanza_schemas.given_values import Element
from benanza_schemas.layer import Accounting, Precision

Choice = TypeVar("Choice", bound=str)

_MODEL = "a path, a file:, http:, https: or s3: address, or zoo:NAME"


def model_text(argument: str, model: object) -> str:
    """How one model is named."""
    return _path(argument, model, _MODEL)


def model_texts(argument: str, models: object) -> tuple[str, ...]:
    """How one model or several are named."""
    return tuple([model_text(argument, model) for model in _several(argument, models, _MODEL)])


def folder(argument: str, path: object) -> Path | None:
    """A folder, or None for the one that the settings name."""
    return None if path is None else Path(_path(argument, path, "the path of a folder"))


def file(argument: str, path: object) -> Path:
    """A file."""
    return Path(_path(argument, path, "the path of a file"))


def batch_size(argument: str, batch: object) -> int | None:
    """One batch size, or None for the model's own."""
    return None if batch is None else _number(argument, batch)


def batch_sizes(argument: str, batch: object) -> tuple[int, ...]:
    """One batch size or several, each once."""
    several = _several(argument, batch, "a whole number from 1 up, or a list of such")
    return tuple(dict.fromkeys(_number(argument, size) for size in several))


def dimensions(argument: str, dims: object) -> dict[str, int]:
    """Named dimensions with their sizes; none where it is None."""
    if dims is None:
        return {}
    if not isinstance(dims, Mapping):
        raise _refusal(argument, dims, 'a dictionary such as {"sequence": 128}')
    return {
        unicode_text(f"a name in {argument}", name): _number(f"{argument}[{name!r}]", size, least=0)
        for name, size in dims.items()
    }


def price(argument: str, given: object) -> float | None:
    """A number from 0; None where none is given."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < math.inf:
        raise _refusal(argument, given, "a number from 0 up")
    return float(given)


def lengths(argument: str, given: object) -> tuple[int, int]:
    """The least and the most of a number of tokens, from 1: one number is both."""
    least, most = given if isinstance(given, tuple) and len(given) == 2 else (given, given)
    from_1 = whole_number(argument, least)
    return from_1, whole_number(argument, most, least=from_1)


def ratio(argument: str, given: object) -> float | None:
    """A number above 0; None where none is given."""
    found = price(argument, given)
    if found == 0:
        raise _refusal(argument, given, "a number above 0")
    return found


def time(argument: str, given: object) -> datetime | None:
    """A time; None where none is given."""
    if given is not None and not isinstance(given, datetime):
        raise _refusal(argument, given, "a datetime")
    return given


def file_or_time(argument: str, given: object) -> Path | datetime | None:
    """The path of a file, or a time; None where neither is given."""
    if given is None or isinstance(given, datetime):
        return given
    return Path(_path(argument, given, "the path of a file, or a datetime"))


class Swept(NamedTuple):
    """Named dimensions as `RunRequest` has them: of one size, of several, and expressions."""

    dims: dict[str, int]
    sweep: dict[str, tuple[int, ...]]
    derived: dict[str, str]


def swept(dims: object, values: object) -> Swept:
    """Named dimensions, each with a size, several sizes, or an expression of others; and inputs
    with their elements.
    """
    if dims is not None and not isinstance(dims, Mapping):
        raise _refusal("dims", dims, 'a dictionary such as {"past": [1024, 4096]}')
    one: dict[object, object] = {}
    sweep: dict[str, tuple[int, ...]] = {}
    derived: dict[str, str] = {}
    for name, given in (dims or {}).items():
        argument = f"dims[{name!r}]"
        if isinstance(given, str) and any(sign in given for sign in "+-*/"):
            derived[unicode_text("a name in dims", name)] = given
        elif isinstance(given, str) or _index(given) is not None:
            one[name] = given
        else:
            several = _several(argument, given, "a whole number from 0 up, or a list of such")
            sizes = tuple(dict.fromkeys(_number(argument, size, least=0) for size in several))
            if not sizes:
                raise _refusal(argument, given, "at least one size")
            sweep[unicode_text("a name in dims", name)] = sizes
    return Swept(bound(one, values), sweep, derived)


def bound(dims: object, values: object) -> dict[str, int]:
    """Named dimensions with their sizes, and inputs with their elements (`given_values`)."""
    sizes = dimensions("dims", dims)
    if values is None:
        return sizes
    if not isinstance(values, Mapping):
        raise _refusal("values", values, 'a dictionary such as {"sr": 16000}')
    lists = {
        unicode_text("a name in values", name): _elements(f"values[{name!r}]", held)
        for name, held in values.items()
    }
    try:
        return sizes | given_values.given(lists)
    except ValueError as error:
        raise BenanzaError(f"{error}; give other values") from None


def _elements(argument: str, held: object) -> list[Element]:
    wanted = "a number, True or False, or a list of such"
    several = (held,) if isinstance(held, bool | float) else _several(argument, held, wanted)
    elements: list[Element] = []
    for value in several:
        element = value if isinstance(value, bool | float) else _index(value)
        if element is None:
            raise _refusal(argument, value, wanted)
        elements.append(element)
    return elements


def precisions(argument: str, precision: object) -> tuple[Precision, ...]:
    """One precision or several, each once."""
    return _choices(argument, precision, get_args(Precision))


def optional_precision(argument: str, precision: object) -> Precision | None:
    """One precision, or None where it goes without saying."""
    return None if precision is None else _choice(argument, precision, get_args(Precision))


def derivation(quantised: object, tensor_parallel: object) -> Derivation:
    """What to make of a model."""
    known = get_args(Quantised)
    return Derivation(
        _choice("quantised", quantised, known), _number("tensor_parallel", tensor_parallel)
    )


def quantised_types(argument: str, quantised: object) -> tuple[Quantised, ...]:
    """One type of weights or several, each once."""
    return _choices(argument, quantised, tuple(filter(None, get_args(Quantised))))


def derivations(quantised: object, tensor_parallel: object) -> tuple[Derivation, ...]:
    """A model as it is written, and in each type of weights and over each number of GPUs."""
    from benanza.request import derivations

    types = quantised_types("quantised", quantised) if quantised else ()
    return derivations(types, batch_sizes("tensor_parallel", tensor_parallel))


def runtime_choice(argument: str, runtime: object) -> str:
    """What is to measure the layers."""
    from benanza_runner.runtimes import runtime_names  # importing benanza takes long enough

    return _choice(argument, runtime, runtime_names())


def accounting_choice(argument: str, accounting: object) -> Accounting:
    """Which layers are to be counted."""
    return _choice(argument, accounting, get_args(Accounting))


def scenario_choice(argument: str, scenario: object) -> Scenario:
    """How a model is loaded with requests."""
    return _choice(argument, scenario, SCENARIOS)


def whole_number(argument: str, given: object, least: int = 1, most: int | None = None) -> int:
    """A whole number from `least` up, and up to `most` if there is such."""
    number = _number(argument, given, least)
    if most is not None and number > most:
        raise _refusal(argument, given, f"a whole number up to {most:,}")
    return number


def switch(argument: str, value: object) -> bool:
    """Whether something is on."""
    if not isinstance(value, bool):
        raise _refusal(argument, value, "True or False")
    return value


def optional_text(argument: str, text: object) -> str | None:
    """Text, or None for what goes without saying."""
    return None if text is None else unicode_text(argument, text)


def unicode_text(argument: str, text: object) -> str:
    """Text."""
    if not isinstance(text, str):
        raise _refusal(argument, text, "text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refusal(argument, text, "text that is Unicode") from None
    return text


def _path(argument: str, path: object, allowed: str) -> str:
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise _refusal(argument, path, allowed)
    try:
        named = os.fsencode(text)
    except UnicodeEncodeError:
        named = b"\0"
    if b"\0" in named:
        raise _refusal(argument, path, f"{allowed}, in characters that a path may have")
    return text


def _several(argument: str, given: object, allowed: str) -> Iterator[object]:
    """What was given, one by one: text, a path or a number is one."""
    if isinstance(given, str | os.PathLike) or _index(given) is not None:
        return iter((given,))
    if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping):
        with suppress(TypeError):  # an array without axes
            return iter(given)
    raise _refusal(argument, given, allowed)


def _number(argument: str, number: object, least: int = 1) -> int:
    size = _index(number)
    if size is None or size < least:
        raise _refusal(argument, number, f"a whole number from {least} up")
    from benanza_ingest.resolving.bind import MAX_DIMENSION

    if size > MAX_DIMENSION:
        raise _refusal(argument, number, f"a whole number up to {MAX_DIMENSION:,}")
    return size


def _index(number: object) -> int | None:
    """A whole number, Python's own or numpy's, say."""
    if isinstance(number, bool):
        return None
    try:
        return operator.index(number)  # type: ignore[arg-type]  # it says what it can't take
    except TypeError:
        return None


def _choices(argument: str, given: object, known: tuple[Choice, ...]) -> tuple[Choice, ...]:
    if not (several := list(_several(argument, given, _listed(known)))):
        raise _refusal(argument, given, _listed(known))
    return tuple(dict.fromkeys(_choice(argument, one, known) for one in several))


def _choice(argument: str, given: object, choices: tuple[Choice, ...]) -> Choice:
    for choice in choices:
        if isinstance(given, str) and given == choice:
            return choice
    raise _refusal(argument, given, _listed(choices))


def _listed(choices: Sequence[str]) -> str:
    return f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"


def _refusal(argument: str, given: object, allowed: str) -> BenanzaError:
    # A tensor, say, writes itself in many lines.
    text = " ".join(reprlib.repr(given).split())
    return BenanzaError(f"{argument} can't be {text}; give {allowed}")
