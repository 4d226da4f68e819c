"""What systems are called, so that people can tell them apart."""

from collections.abc import Iterable

from benanza.results.inspect import LayerTime
from benanza.results.what_if import BatchSizes
from benanza.results.witness import ModelWitness
from benanza_backbone.clickhouse.bounds import BoundVersion, ModelBound

ID_SHOWN = 8
"""Digits of a system's id: enough to find it among those of an installation."""

Measured = ModelBound | BoundVersion | ModelWitness | BatchSizes | LayerTime


class SystemNames:
    """The names of the systems that these results are of.

    It is the accelerator's or the CPU's; where several with the same runtime are called the same,
    as after another driver was installed, their ids begin to tell them apart.
    """

    def __init__(self, results: Iterable[Measured]) -> None:
        called: dict[tuple[str, str], set[str]] = {}
        for result in results:
            called.setdefault((result.system, result.runtime), set()).add(result.system_id)
        self.several = sum(map(len, called.values())) > 1
        self._alike = frozenset().union(*(ids for ids in called.values() if len(ids) > 1))

    def name(self, result: Measured) -> str:
        """The system's name, and what it measured with.

        A system is not described where its measurements came without its `SystemMeasured`.
        """
        if not result.system:
            return f"the system {result.system_id[:ID_SHOWN]}, which isn't described here,"
        alike = result.system_id in self._alike
        system = f"{result.system} ({result.system_id[:ID_SHOWN]})" if alike else result.system
        return f"{system} with {result.runtime}"

    def measured_on(self, result: Measured) -> str:
        """On what, with what and at which precision the layers were measured."""
        return f"measured on {self.name(result)} at {result.precision}"
