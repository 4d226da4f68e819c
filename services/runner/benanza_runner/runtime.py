"""The port to whatever runs layers: a library on a device."""

from abc import ABC, abstractmethod

import msgspec

from benanza_schemas.events import Ceiling, System, Variant
from benanza_schemas.layer import Layer, Precision


class Outcome(msgspec.Struct, frozen=True):
    """What came of measuring a layer: variants, or the reason that none could be tried.

    `environment` says what was seen around the measurement.
    """

    variants: tuple[Variant, ...] = ()
    failure: str = ""
    environment: dict[str, str] = {}


class Runtime(ABC):
    """Runs layers and times them.

    Whatever is wrong with a layer is part of the outcome and never an exception.
    """

    @abstractmethod
    def system(self) -> System:
        """What the measurements are made on and with."""

    @abstractmethod
    def refuses(self, layer: Layer, precision: Precision) -> str | None:
        """Why this layer can't be tried at this precision, or None if it can.

        Answers at once, without running anything: a layer that isn't refused may still fail.
        """

    @abstractmethod
    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        """Times a layer in its canonical form, with its inputs and weights in the caches."""

    @abstractmethod
    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        """The bandwidth and the rate of operations that this system reaches, measured now.

        What it can't do at this precision is left out.
        """
