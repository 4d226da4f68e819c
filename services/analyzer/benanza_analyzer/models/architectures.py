"""All architectures, and which of them contain a layer."""

from collections import defaultdict
from collections.abc import Collection

from benanza_analyzer.models.architecture import Architecture, compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_schemas.events import ModelIngested


class Architectures:
    """Architectures by id. `catalogue` numbers their layers."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._known: dict[str, Architecture] = {}
        self._with_layer: dict[int, dict[Architecture, None]] = defaultdict(dict)

    def add(self, event: ModelIngested) -> Architecture:
        """Takes in a model, and returns its architecture.

        An id says what the architecture is, so that one that is known is not looked at again,
        unless it says more of the least work. The id of a model's own architecture
        doesn't: the last event with it replaces the former ones.
        Raises `InvalidModelError` as `compile_architecture` does; nothing has changed then.
        """
        known = self._known.get(event.architecture_id)
        says_no_more = known is not None and known.least_known >= event.least_known()
        if known is not None and says_no_more and event.architecture_id != event.model_id:
            return known
        architecture = compile_architecture(event, self._catalogue)
        if known is not None:
            for number in known.numbers.tolist():
                del self._with_layer[number][known]
        self._known[event.architecture_id] = architecture
        for number in architecture.numbers.tolist():
            self._with_layer[number][architecture] = None
        return architecture

    def get(self, architecture: str) -> Architecture | None:
        """The architecture with this id; None if there is no such one."""
        return self._known.get(architecture)

    def of(self, architecture: str) -> Architecture:
        """The architecture with this id. Raises `KeyError` if there is no such one."""
        return self._known[architecture]

    def all(self) -> Collection[Architecture]:
        """All architectures."""
        return self._known.values()

    def with_layer(self, number: int) -> Collection[Architecture]:
        """The architectures with the layer or group of this number."""
        return self._with_layer.get(number, {}).keys()
