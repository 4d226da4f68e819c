"""Binds the batch size and the named dimensions of a model's inputs to numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import NamedTuple

from onnx import ModelProto, TensorShapeProto, ValueInfoProto

from benanza_backbone.pasteable import pasteable
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.parse import check_text
from benanza_ingest.resolving.given_inputs import take_given
from benanza_ingest.resolving.open_sizes.derived_sizes import derived_size
from benanza_schemas.given_values import is_given
from benanza_schemas.vocabulary import BATCH_NAMES

_SHORT_BATCH_NAMES = ("n", "bs", "b")
"""Of a first axis. Elsewhere, these may be numbers of anything."""

MAX_DIMENSION = 2**53
"""The largest number in events: not all languages have larger integers."""


@dataclass(frozen=True)
class Binding:
    """The numbers that were bound. `dims` holds the named dimensions other than the batch and those
    that follow from others, and what `given_values` says of inputs' elements; `inputs` the model's
    inputs without weights.

    `asked` says that a number was given for an open dimension, `assumed` what was taken for the
    batch where none was, for people. `own` is the model at its own fixed batch size if another one
    replaced it; then the shapes that the model declares aren't valid. `implied` are the sizes of
    open dimensions that follow from the graph.
    """

    batch: int
    dims: dict[str, int]
    inputs: list[ValueInfoProto]
    asked: bool = False
    own: "OwnModel | None" = None
    assumed: str = ""
    implied: Mapping[str, int] = field(default_factory=dict)

    def open_names(self) -> list[str]:
        """The names of the dimensions that were not bound."""
        return _open_names(self.inputs)

    def asked_for(self) -> dict[str, tuple[str, ...]]:
        """What to give numbers for, by the names of the dimensions that were not bound: the name,
        or, of one without a letter, such as `?`, that stands at several axes of an input, the axes:
        they may differ.
        """
        return {name: _asked_for(name, self.inputs) for name in self.open_names()}


class OwnModel(NamedTuple):
    """A model at its own batch size, and what was bound in it."""

    model: ModelProto
    binding: Binding


def bind(model: ModelProto, batch: int | None, dims: Mapping[str, int]) -> Binding:
    """Replaces dimensions of the inputs of `model` by numbers, in place.

    The batch is a first axis with a name such as `batch_size`, else an axis that is called so, else
    the first axis of the first input. If `batch` is None, the model's own number stays, or 1
    replaces an open dimension, which `assumed` says.
    A dimension without a name gets the name `INPUT[AXIS]`, and so does one that `dims` calls so,
    which is then apart from others of its former name. One that is named by others, such as
    `past + length`, follows from them. What `dims` says of inputs' elements (`given_values`) makes
    constants of these. Raises `ModelError` for a batch below 1, for another number below 0, for a
    name that the model doesn't have, and as `take_given` does.
    """
    values = {name: count for name, count in dims.items() if _is_value(model, name)}
    take_given(model, values)
    dims = {name: number for name, number in dims.items() if name not in values}
    inputs = _inputs(model)
    _name_unnamed(inputs)
    _name_apart(model, inputs, dims)
    names = _open_names(inputs)
    check_text(names)
    _check(names, [value.name for value in inputs], batch, dims)
    numbers = dict(dims)
    own, assumed = None, ""
    batch_name = _batch_name(inputs, names, dims)
    if batch_name is not None:
        if batch is not None and numbers.get(batch_name, batch) != batch:
            raise ModelError(
                f"the batch size can't be {batch} and {numbers[batch_name]}: {batch_name!r} is "
                "the batch; give one of them"
            )
        if batch is None and batch_name not in numbers:
            assumed = (
                f"{batch_name!r} was taken for the batch, of 1: give --batch, or "
                f"{pasteable('--dim', f'{batch_name}=N')} if it is something else"
            )
        numbers[batch_name] = batch or numbers.get(batch_name, 1)
        chosen = numbers[batch_name]
        if not chosen:
            raise ModelError(f"{batch_name!r} is the batch, which can't be 0; give 1 or more")
    else:
        first = next((_dims(i)[0] for i in inputs if _dims(i)), None)
        present = first.dim_value if first is not None and first.dim_value > 0 else 1
        chosen = batch or present
        if chosen != present:
            if first is None or first.dim_value != present:
                raise ModelError(f"the model has no batch that could be {chosen}; give none")
            former = ModelProto()
            former.CopyFrom(model)
            own = OwnModel(former, bind(former, None, dims))
            for value in inputs:
                if _dims(value) and _dims(value)[0].dim_value == present:
                    _dims(value)[0].dim_value = chosen
    derived = _derived(names, numbers)
    numbers |= derived
    if numbers:
        _substitute(model, numbers)
    if chosen > MAX_DIMENSION:
        raise ModelError(f"the model has a batch size of {chosen}; give another by --batch")
    asked = bool(numbers) and (batch is not None or bool(dims))
    own_names = numbers.keys() - derived.keys() - {batch_name}
    others = {name: numbers[name] for name in own_names} | values
    return Binding(chosen, dict(sorted(others.items())), inputs, asked, own, assumed)


def bind_implied(model: ModelProto, binding: Binding, sizes: Mapping[str, int]) -> Binding:
    """Replaces open dimensions of `model`, which was bound so, by sizes that follow from it."""
    _substitute(model, sizes)
    return replace(binding, inputs=_inputs(model), implied={**binding.implied, **sizes})


def _is_value(model: ModelProto, name: str) -> bool:
    return is_given(name) and all(name != d.dim_param for i in _inputs(model) for d in _dims(i))


def _inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The inputs without weights, which older models list among the inputs as well."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def _open_names(inputs: list[ValueInfoProto]) -> list[str]:
    return list(dict.fromkeys(d.dim_param for i in inputs for d in _dims(i) if d.dim_param))


def _asked_for(name: str, inputs: list[ValueInfoProto]) -> tuple[str, ...]:
    axes = [[axis for axis, dim in enumerate(_dims(i)) if dim.dim_param == name] for i in inputs]
    if max(map(len, axes)) == 1 or any(map(str.isalpha, name)):
        return (name,)
    return tuple(
        f"{i.name}[{axis}]"
        for i, named_axes in zip(inputs, axes, strict=True)
        for axis in named_axes
    )


def _dims(value: ValueInfoProto) -> list[TensorShapeProto.Dimension]:
    if not value.type.HasField("tensor_type"):
        return []
    return list(value.type.tensor_type.shape.dim)


def _name_unnamed(inputs: list[ValueInfoProto]) -> None:
    for value in inputs:
        for axis, dim in enumerate(_dims(value)):
            known = dim.HasField("dim_value") and dim.dim_value >= 0
            if not known and not dim.dim_param:
                dim.dim_param = f"{value.name}[{axis}]"


def _name_apart(model: ModelProto, inputs: list[ValueInfoProto], dims: Mapping[str, int]) -> None:
    """Some exporters give one name to axes that differ. Elsewhere it says nothing then."""
    former: set[str] = set()
    for value in inputs:
        for axis, dim in enumerate(_dims(value)):
            name = f"{value.name}[{axis}]"
            if name in dims and dim.dim_param not in ("", name):
                former.add(dim.dim_param)
                dim.dim_param = name
    for value in (*model.graph.output, *model.graph.value_info):
        for dim in _dims(value):
            if dim.dim_param in former:
                dim.Clear()


def _check(names: list[str], inputs: list[str], batch: int | None, dims: Mapping[str, int]) -> None:
    if batch is not None and not 1 <= batch <= MAX_DIMENSION:
        raise ModelError(f"the batch size can't be {batch}; give a number from 1 up")
    for name, number in dims.items():
        if not 0 <= number <= MAX_DIMENSION:
            raise ModelError(f"dimension {name!r} can't be {number}; give a number from 0 up")
    for name in dims:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            if name in inputs:
                hint = f"did you mean {pasteable('--value', f'{name}={dims[name]}')}? "
            has = ", ".join(map(repr, names)) or "none: all are fixed"
            raise ModelError(f"the model has no open dimension {name!r}; {hint}it has {has}")


def _derived(names: list[str], numbers: Mapping[str, int]) -> dict[str, int]:
    """The sizes of the dimensions whose names are expressions of those with these numbers.

    Raises `ModelError` for one that can't be, and if another number was given for it.
    """
    sizes = {}
    for name in names:
        size = derived_size(name, numbers)
        if size is None:
            continue
        if not 0 <= size <= MAX_DIMENSION or numbers.get(name, size) != size:
            given = f", not {numbers[name]}" if name in numbers else ""
            raise ModelError(
                f"dimension {name!r} is {size} by those that it is named after{given}; give other "
                "numbers for these"
            )
        sizes[name] = size
    return sizes


def _batch_name(
    inputs: list[ValueInfoProto], names: list[str], dims: Mapping[str, int]
) -> str | None:
    """The open dimension that is the batch: a first axis that is called so, one that is called so
    elsewhere, or else the first axis of the first input, unless its length is to be 0.
    """
    first = [dims[0].dim_param for dims in map(_dims, inputs) if dims]
    called = [name for name in first if name.lower() in (*BATCH_NAMES, *_SHORT_BATCH_NAMES)]
    elsewhere = [name for name in names if name.lower() in BATCH_NAMES]
    guessed = [name for name in first[:1] if dims.get(name) != 0]
    return next(iter([*called, *elsewhere, *guessed]), None) or None


def _substitute(model: ModelProto, numbers: Mapping[str, int]) -> None:
    graph = model.graph
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dim in _dims(value):
            if dim.dim_param in numbers:
                dim.dim_value = numbers[dim.dim_param]
