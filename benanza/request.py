"""What a run is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from typing import NamedTuple

from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_ingest.resolving.open_sizes.derived_sizes import derived_size
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation, Quantised
from benanza_schemas.layer import Accounting, Precision
from benanza_schemas.vocabulary import BATCH_NAMES


class BoundPolicy(NamedTuple):
    """Which of a model's bounds are meant. No `precisions` are all that were measured; `system` is
    how the id of their system begins.
    """

    precisions: tuple[Precision, ...] = ("fp32",)
    fusion: bool = True
    accounting: Accounting = "full"
    system: str = ""

    def includes(self, bound: ModelBound | BoundVersion) -> bool:
        """Whether a bound, or a version of one, is meant."""
        return (
            (not self.precisions or bound.precision in self.precisions)
            and bound.fusion == self.fusion
            and bound.accounting == self.accounting
            and bound.system_id.startswith(self.system)
        )


def has_dims(sizes: Mapping[str, int], *, batch: int, dims: Mapping[str, int]) -> bool:
    """Whether a model at a batch size, whose other dimensions are `dims`, has these sizes. A
    dimension that it lacks is the batch, if it is called so.
    """
    return all(
        dims.get(name, batch if name.lower() in BATCH_NAMES else None) == size
        for name, size in sizes.items()
    )


def derivations(
    quantised: Sequence[Quantised], tensor_parallel: Sequence[int]
) -> tuple[Derivation, ...]:
    """The model as it is written, and quantised so, and split over so many GPUs, in all
    combinations.
    """
    combined = product(("", *quantised), (1, *tensor_parallel))
    return tuple(dict.fromkeys(Derivation(*one) for one in combined))


class Other(NamedTuple):
    """What is different on the other side of a comparison of bounds: the time, the precision, or
    the system, of which this is the beginning of the id.
    """

    at: datetime | None = None
    precision: Precision | None = None
    system: str = ""

    def __str__(self) -> str:
        """In words, as for a title."""
        if self.at is not None:
            return f"as of {self.at:%Y-%m-%d %H:%M:%S}"
        return f"at {self.precision}" if self.precision else f"on system {self.system}"


@dataclass(frozen=True)
class RunRequest:
    """Models, what to bind in them, and which bounds to find with which runtime.

    `batch_sizes` empty means: each model's own, and 1 where it leaves that open. `dims` binds
    named dimensions; those of `sweep` are bound to each of several sizes, in all combinations, and
    those of `derived` to what these expressions of others give. `derivations` are what is made of
    each model before.
    `again` means: measure all their layers anew.
    """

    models: tuple[str, ...]
    batch_sizes: tuple[int, ...] = ()
    dims: Mapping[str, int] = field(default_factory=dict)
    sweep: Mapping[str, Sequence[int]] = field(default_factory=dict)
    derived: Mapping[str, str] = field(default_factory=dict)
    policy: BoundPolicy = field(default_factory=BoundPolicy)
    runtime: str = "auto"
    again: bool = False
    derivations: Sequence[Derivation] = (AS_WRITTEN,)

    def points(self) -> list[dict[str, int]]:
        """What is bound at each point of the sweep, the last dimension changing fastest. Raises
        `BenanzaError` for an expression that isn't one of dimensions that are bound.
        """
        return [
            self._with_derived({**self.dims, **dict(zip(self.sweep, sizes, strict=True))})
            for sizes in product(*self.sweep.values())
        ]

    def _with_derived(self, bound: dict[str, int]) -> dict[str, int]:
        for name, expression in self.derived.items():
            size = derived_size(expression, bound)
            if name in bound:
                both = f"{bound[name]} and to {expression}"
                raise BenanzaError(f"{name} is bound to {both}; give one of them")
            if size is None or size < 0:
                raise BenanzaError(
                    f"{name}={expression}: give a whole number from 0, or an expression of "
                    "dimensions that are bound, such as past+1"
                )
            bound[name] = size
        return bound
