"""What a run is asked for."""

import click
import pytest

from benanza.commands.options import Sizes
from benanza.request import RunRequest
from benanza_backbone.errors import BenanzaError


def test_a_sweep_binds_each_combination_of_sizes() -> None:
    request = RunRequest(models=(), dims={"length": 1}, sweep={"batch": (1, 8), "past": (4, 16)})
    assert request.points() == [
        {"length": 1, "batch": 1, "past": 4},
        {"length": 1, "batch": 1, "past": 16},
        {"length": 1, "batch": 8, "past": 4},
        {"length": 1, "batch": 8, "past": 16},
    ]


def test_without_a_sweep_there_is_one_point() -> None:
    assert RunRequest(models=(), dims={"length": 1}).points() == [{"length": 1}]


def test_what_follows_from_others_follows_at_each_point() -> None:
    request = RunRequest(models=(), sweep={"past": (4, 16)}, derived={"total": "past + 1"})
    assert request.points() == [{"past": 4, "total": 5}, {"past": 16, "total": 17}]


@pytest.mark.parametrize("expression", ["pst+1", "past-5", "past/2", "+"])
def test_an_expression_of_what_is_not_bound_is_refused(expression: str) -> None:
    request = RunRequest(models=(), sweep={"past": (4,)}, derived={"total": expression})
    with pytest.raises(BenanzaError, match="give a whole number from 0, or an expression"):
        request.points()


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("past=1024", ("past", (1024,))),
        ("past=4,16,4", ("past", (4, 16))),
        ("x[1]=3", ("x[1]", (3,))),
        ("total=past+1", ("total", "past+1")),
    ],
)
def test_how_sizes_are_written(text: str, bound: object) -> None:
    assert Sizes().convert(text, None, None) == bound


@pytest.mark.parametrize("text", ["past", "past=", "=4", "past=4,", "past=four", "past=4,a+1"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not NAME=N"):
        Sizes().convert(text, None, None)


def test_a_dimension_is_bound_once() -> None:
    request = RunRequest(models=(), dims={"past": 4, "total": 5}, derived={"total": "past+1"})
    with pytest.raises(BenanzaError, match="total is bound to 5 and to past"):
        request.points()
