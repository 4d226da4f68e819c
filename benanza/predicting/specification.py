"""The file that describes a GPU: its ceilings, each with its unit, from a data sheet or measured.

The data sheets that Benanza brings are in the folder `sheets`, and are examples of such files.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast, get_args

from benanza_analyzer.prediction.gpu import Figures, GpuSpecification
from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision

SHEETS = Path(__file__).parent / "sheets"

MATRIX = "matrix"
"""The table of rates by precision."""

_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?) ?(?P<unit>[A-Za-zµ/]+)")


class Quantity(NamedTuple):
    """What a value may look like: its units, with how many of the base unit each is."""

    units: Mapping[str, float]
    example: str


_BANDWIDTH = Quantity({"GB/s": 1e9, "TB/s": 1e12}, "3.35 TB/s")
_SIZE = Quantity({"MB": 1e6, "KiB": 2.0**10, "MiB": 2.0**20}, "50 MiB")
_RATE = Quantity({"GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15}, "67 TFLOP/s")
_CLOCK = Quantity({"MHz": 1e6, "GHz": 1e9}, "1980 MHz")
_TIME = Quantity({"ns": 1e-3, "us": 1.0, "µs": 1.0}, "0.73 us")

TEXTS = {
    "name": "NVIDIA H100 80GB HBM3",
    "figures": "data sheet",
    "compute_capability": "9.0",
    "multiprocessors": 132,
}
"""Keys without a unit, with examples."""

NEEDED = {"clock": _CLOCK, "memory": _BANDWIDTH, "cache": _SIZE}
OPTIONAL = {"cache_bandwidth": _BANDWIDTH, "launch": _TIME}
"""What data sheets don't have."""


def read_specification(path: Path) -> GpuSpecification:
    """The GPU that a file describes. Raises `BenanzaError` that says how to mend it."""
    try:
        return _specification(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise BenanzaError(f"{path} can't be read: {error}; give a file in TOML") from error
    except (tomllib.TOMLDecodeError, _WrongError) as error:
        raise BenanzaError(f"{path}: {error}") from error


@cache
def known_sheets() -> Mapping[str, GpuSpecification]:
    """The data sheets that Benanza brings, by the GPU's name."""
    sheets = map(read_specification, sorted(SHEETS.glob("*.toml")))
    return {sheet.name: sheet for sheet in sheets}


class _WrongError(Exception):
    """What is wrong in a file."""


def _specification(given: Mapping[str, Any]) -> GpuSpecification:
    _only(given, (*TEXTS, *NEEDED, *OPTIONAL, MATRIX), "")
    for key, example in TEXTS.items():
        if key not in given:
            shown = f'"{example}"' if isinstance(example, str) else example
            raise _WrongError(f"{key} is missing; add {key} = {shown}")
    for key, quantity in NEEDED.items():
        if key not in given:
            raise _WrongError(f'{key} is missing; add {key} = "{quantity.example}"')
    matrix = given.get(MATRIX)
    if not isinstance(matrix, Mapping) or not matrix:
        raise _WrongError(f'[{MATRIX}] is missing; add it, and below it fp32 = "{_RATE.example}"')
    _only(matrix, get_args(Precision), f" in [{MATRIX}]")
    return GpuSpecification(
        name=_text("name", given["name"]),
        figures=_figures(given["figures"]),
        compute_capability=_text("compute_capability", given["compute_capability"]),
        multiprocessors=_whole("multiprocessors", given["multiprocessors"]),
        clock=_amount("clock", given["clock"], _CLOCK),
        memory=_amount("memory", given["memory"], _BANDWIDTH),
        cache_bytes=_amount("cache", given["cache"], _SIZE),
        flops={
            cast(Precision, precision): _amount(f"{MATRIX}.{precision}", rate, _RATE)
            for precision, rate in matrix.items()
        },
        cache_bandwidth=_optional(given, "cache_bandwidth"),
        launch_us=_optional(given, "launch"),
    )


def _only(given: Iterable[str], known: Iterable[str], where: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise _WrongError(f"there is no key {unknown[0]}{where}; there are {', '.join(known)}")


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(key, value, f'"{TEXTS[key]}"')
    return value


def _figures(value: object) -> Figures:
    for figures in get_args(Figures):
        if value == figures:
            return cast(Figures, figures)
    raise _WrongError(
        f"figures can't be {value!r}; give {' or '.join(map(repr, get_args(Figures)))}"
    )


def _whole(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _wrong(key, value, str(TEXTS[key]))
    return value


def _optional(given: Mapping[str, Any], key: str) -> float | None:
    return _amount(key, given[key], OPTIONAL[key]) if key in given else None


def _amount(key: str, value: object, quantity: Quantity) -> float:
    """A number above zero with its unit, in the base unit."""
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found is None or found["unit"] not in quantity.units or not float(found["number"]):
        units = ", ".join(quantity.units)
        raise _wrong(key, value, f'a number above zero in {units}, such as "{quantity.example}"')
    return float(found["number"]) * quantity.units[found["unit"]]


def _wrong(key: str, value: object, example: str) -> _WrongError:
    return _WrongError(f"{key} can't be {value!r}; give {example}")
