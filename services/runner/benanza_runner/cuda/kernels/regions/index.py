"""Indices of elements as sums of variables, simplified with what is known of their sizes.

A reshape divides an index by lengths of axes and takes remainders. Most of these vanish: the
quotient of `64 * i + j` by 64 is `i` if `j` is less than 64.
"""

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple


class Variable(NamedTuple):
    """A variable or expression of C that is at least 0 and less than `size`.

    `of` names the variables of loops that it depends on. A quotient or a remainder has a `base`,
    which is divided by `divisor`.
    """

    text: str
    size: int
    of: frozenset[str]
    base: "Index | None" = None
    divisor: int = 0
    is_quotient: bool = False

    @property
    def splits(self) -> str:
        """The variable of a loop of which it is the quotient or the remainder, if any."""
        if self.base is None or self.base.constant or len(self.base.terms) != 1:
            return ""
        ((variable, step),) = self.base.terms
        return variable.text if step == 1 and variable.text in variable.of else ""


class Index(NamedTuple):
    """`constant` and the sum of variables times numbers, each variable once."""

    terms: tuple[tuple[Variable, int], ...]
    constant: int = 0

    @property
    def low(self) -> int:
        """A bound from below."""
        return self.constant + sum(min(0, (v.size - 1) * step) for v, step in self.terms)

    @property
    def high(self) -> int:
        """A bound from above."""
        return self.constant + sum(max(0, (v.size - 1) * step) for v, step in self.terms)

    @property
    def of(self) -> frozenset[str]:
        """The variables of loops that it depends on."""
        return frozenset().union(*(v.of for v, _ in self.terms))

    def text(self) -> str:
        """As an expression of C over `int`."""
        parts = [v.text if step == 1 else f"{v.text} * {step}" for v, step in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"


ZERO = Index(())


def loop(name: str, size: int) -> Index:
    """The variable of a loop."""
    if size == 1:
        return ZERO
    return Index(((Variable(name, size, frozenset((name,))), 1),))


def number(value: int) -> Index:
    """A number."""
    return Index((), value)


def total(*parts: tuple[Index, int], constant: int = 0) -> Index:
    """The sum of indices times numbers."""
    steps: dict[Variable, int] = {}
    for index, times in parts:
        constant += index.constant * times
        for variable, step in index.terms:
            steps[variable] = steps.get(variable, 0) + step * times
    for quotient in [v for v in steps if v.is_quotient]:
        # A quotient times the divisor and the remainder are what was divided.
        base, divisor = quotient.base, quotient.divisor
        rest = next(
            (
                v
                for v in steps
                if v.base == base and v.divisor == divisor != 0 and not v.is_quotient
            ),
            None,
        )
        if base and rest and steps[quotient] == steps[rest] * divisor != 0:
            times = steps[rest]
            others = {v: step for v, step in steps.items() if v not in (quotient, rest)}
            return total((Index(_ordered(others), constant), 1), (base, times))
    return Index(_ordered(steps), constant)


def divided(index: Index, divisor: int) -> Index:
    """The quotient of an index that is at least 0, rounded down."""
    whole, rest = _split(index, divisor)
    if rest.low < 0:
        whole, rest = ZERO, index
    if rest.high < divisor:
        return whole
    coarse, _, unit = _coarse(rest, divisor)
    return total((whole, 1), (_of(coarse, divisor // unit, "/"), 1))


def remainder(index: Index, divisor: int) -> Index:
    """The remainder of an index that is at least 0."""
    _, rest = _split(index, divisor)
    if rest.low < 0:
        rest = index
    elif rest.high < divisor:
        return rest
    coarse, fine, unit = _coarse(rest, divisor)
    return total((_of(coarse, divisor // unit, "%"), unit), (fine, 1))


def parted(index: Index, length: int) -> tuple[Index, Index] | None:
    """Quotient and remainder, if the index is a sum of both as it stands."""
    whole, rest = _split(index, length)
    return (whole, rest) if rest.low >= 0 and rest.high < length else None


def flattened(indices: tuple[Index, ...], shape: tuple[int, ...]) -> Index:
    """The number of an element in row-major order."""
    flat_index = ZERO
    for index, size in zip(indices, shape, strict=True):
        flat_index = total((flat_index, size), (index, 1))
    return flat_index


def unflattened(index: Index, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """The reverse of `flattened`."""
    indices: list[Index] = []
    for axis, size in reversed(tuple(enumerate(shape))):
        # The first axis takes all that is left.
        indices.append(remainder(index, size) if any(n > 1 for n in shape[:axis]) else index)
        index = divided(index, size)
    return tuple(reversed(indices))


def _ordered(steps: Mapping[Variable, int]) -> tuple[tuple[Variable, int], ...]:
    return tuple(sorted(((v, n) for v, n in steps.items() if n), key=lambda term: term[0].text))


def _split(index: Index, divisor: int) -> tuple[Index, Index]:
    """What the divisor divides, divided by it, and the rest."""
    whole = {v: step // divisor for v, step in index.terms if step % divisor == 0}
    rest = {v: step for v, step in index.terms if step % divisor}
    return (
        Index(_ordered(whole), index.constant // divisor),
        Index(_ordered(rest), index.constant % divisor),
    )


def _coarse(index: Index, divisor: int) -> tuple[Index, Index, int]:
    """The index as `unit` times a coarse one, and a fine one that is less than the unit.

    The unit divides the divisor, so that quotients follow from the coarse index alone.
    """
    for unit in sorted({gcd(step, divisor) for _, step in index.terms}, reverse=True):
        coarse, fine = _split(index, unit)
        if fine.low >= 0 and fine.high < unit:
            return coarse, fine, unit
    return index, ZERO, 1


def _of(index: Index, divisor: int, operator: str) -> Index:
    """A quotient or remainder that doesn't simplify, as a variable."""
    text = f"({index.text()} {operator} {divisor})"
    size = index.high // divisor + 1 if operator == "/" else min(divisor, index.high + 1)
    variable = Variable(text, size, index.of, index, divisor, operator == "/")
    return Index(((variable, 1),))
