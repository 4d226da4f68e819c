"""What the options take, and how they refuse."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benanza.commands.options import (
    Dimension,
    Positive,
    Precisions,
    Time,
    Value,
    dim_filter_option,
    dim_option,
)


def test_batch_sizes() -> None:
    assert Positive().convert("1,8,32", None, None) == (1, 8, 32)
    assert Positive().convert("8, 1,8", None, None) == (8, 1)


@pytest.mark.parametrize("text", ["", "0", "-1", "1,", "1.5", "one", "1 8"])
def test_no_batch_sizes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not a whole number from 1"):
        Positive().convert(text, None, None)


@given(st.text(min_size=1), st.integers(0, 2**40))
def test_dimensions(name: str, number: int) -> None:
    assert Dimension().convert(f"{name}={number}", None, None) == (name, number)


@pytest.mark.parametrize("text", ["", "batch", "=8", "batch=", "batch=-1", "batch=x"])
def test_no_dimensions(text: str) -> None:
    with pytest.raises(click.BadParameter, match="not NAME=N"):
        Dimension().convert(text, None, None)


def test_values() -> None:
    assert Value().convert("sr=16000", None, None) == ("sr=16000", 1)
    assert Value().convert("size=2,0.50", None, None) == ("size=2,0.5", 2)
    assert Value().convert("on=true", None, None) == ("on=true", 1)


@pytest.mark.parametrize("text", ["", "sr", "=8", "sr=", "sr=x", "sr=1,", "sr=nan"])
def test_no_values(text: str) -> None:
    with pytest.raises(click.BadParameter, match="give numbers, true or false, as in sr=16000"):
        Value().convert(text, None, None)


@pytest.mark.parametrize("option", [dim_option, dim_filter_option])
def test_values_stand_among_the_dimensions(
    option: Callable[[Callable[..., None]], Callable[..., None]],
) -> None:
    @click.command()
    @option
    def command(dims: tuple[tuple[str, int], ...]) -> None:
        click.echo(dict(dims))

    arguments = ["--value", "sr=16000", "--dim", "length=8", "--value", "on=false"]
    found = CliRunner().invoke(command, arguments)
    assert found.output == "{'length': 8, 'sr=16000': 1, 'on=false': 1}\n"


def test_precisions() -> None:
    assert Precisions().convert("fp32,fp16,fp32", None, None) == ("fp32", "fp16")
    with pytest.raises(click.BadParameter, match="'fp8' is none of fp32, tf32, fp16, bf16"):
        Precisions().convert("fp32,fp8", None, None)


def test_times_are_utc_unless_they_say_otherwise() -> None:
    assert Time().convert("2026-11-21T12:00", None, None) == datetime(2026, 11, 21, 12, tzinfo=UTC)
    here = timezone(timedelta(hours=1))
    expected = datetime(2026, 11, 21, 12, tzinfo=here)
    assert Time().convert("2026-11-21T12:00+01:00", None, None) == expected
    with pytest.raises(click.BadParameter, match="'noon' is no time such as"):
        Time().convert("noon", None, None)
