"""Times, amounts and shares as people read them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benanza_schemas.given_values import is_given


@dataclass(frozen=True)
class TimeUnit:
    """A unit of time, and the decimals to print in it."""

    name: str
    microseconds: float
    decimals: int

    def format(self, value_us: float | None) -> str:
        """A time without its unit; a dash for one that cannot be had."""
        return "-" if value_us is None else f"{value_us / self.microseconds:,.{self.decimals}f}"


MICROSECONDS = TimeUnit("µs", 1.0, 1)
MILLISECONDS = TimeUnit("ms", 1e3, 2)
SECONDS = TimeUnit("s", 1e6, 2)


def time_unit(values_us: Iterable[float | None]) -> TimeUnit:
    """One unit for all of these, so that they can be compared: that of the smallest, which would
    vanish in a larger one. What is zero or can't be had doesn't count."""
    smallest = min((value for value in values_us if value), default=0.0)
    if smallest < 1e3:
        return MICROSECONDS
    return MILLISECONDS if smallest < 1e6 else SECONDS


def amount(value: float, unit: str = "") -> str:
    """A number to three digits with a decimal prefix: `amount(1_234_000, "B")` is `1.23 MB`."""
    prefixes = ("", "k", "M", "G", "T", "P", "E")
    power = 0
    while abs(value) >= 999.5 and power < len(prefixes) - 1:
        value /= 1000
        power += 1
    digits = f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"
    return f"{digits} {prefixes[power]}{unit}".strip()


def dimensions(shape: Sequence[int]) -> str:
    """A shape as `1×3×224×224`; `scalar` where it has no dimension."""
    return "×".join(map(str, shape)) or "scalar"


def named_sizes(dims: Mapping[str, int]) -> str:
    """Dimensions with their sizes and inputs with their values, as `height=8, sr=16000`; empty
    where there are none.
    """
    return ", ".join(n if is_given(n) else f"{n}={size}" for n, size in dims.items())


def plural(count: int, noun: str) -> str:
    """`1 layer`, `2,000 layers`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
