"""All models, by the architecture that they share."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from benanza_analyzer.models.architecture import (
    Architecture,
    architecture_digest,
    compile_architecture,
)
from benanza_analyzer.models.catalogue import Catalogue
from benanza_schemas.events import ModelIngested


class Models:
    """Models and architectures. An architecture is there as long as it has a model.

    A model of a known architecture takes its id, and nothing else. `catalogue` numbers the layers.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._digest_of: dict[str, bytes] = {}
        self._architectures: dict[bytes, Architecture] = {}
        self._ids: dict[Architecture, dict[str, None]] = {}
        self._with_layer: dict[int, dict[Architecture, None]] = defaultdict(dict)

    def add(self, event: ModelIngested) -> Architecture:
        """Takes in a model, in place of a former one with its id, and returns its architecture.

        Raises `InvalidModelError` as `compile_architecture` does; nothing has changed then.
        """
        digest = architecture_digest(event)
        architecture = self._architectures.get(digest)
        if architecture is None:
            architecture = compile_architecture(event, self._catalogue)
        if self._digest_of.get(event.model_id, digest) != digest:
            self._remove(event.model_id)
        if digest in self._architectures:
            digest = self._digest_of[next(iter(self._ids[architecture]))]
        else:
            self._architectures[digest] = architecture
            self._ids[architecture] = {}
            for number in architecture.numbers.tolist():
                self._with_layer[number][architecture] = None
        self._digest_of[event.model_id] = digest
        self._ids[architecture][event.model_id] = None
        return architecture

    def get(self, model_id: str) -> Architecture | None:
        """A model's architecture; None if there is no such model."""
        digest = self._digest_of.get(model_id)
        return None if digest is None else self._architectures[digest]

    def architecture(self, model_id: str) -> Architecture:
        """A model's architecture. Raises `KeyError` if there is no such model."""
        return self._architectures[self._digest_of[model_id]]

    def first_of(self, architecture: Architecture) -> str:
        """The id of the first of its models."""
        return next(iter(self._ids[architecture]))

    def all(self) -> Collection[tuple[Architecture, Collection[str]]]:
        """All architectures, each with the ids of its models."""
        return self._ids.items()

    def with_layer(self, number: int) -> Sequence[tuple[Architecture, Collection[str]]]:
        """The architectures with the layer or group of this number, as `all` has them."""
        return [(each, self._ids[each]) for each in self._with_layer.get(number, ())]

    def _remove(self, model_id: str) -> None:
        digest = self._digest_of.pop(model_id)
        architecture = self._architectures[digest]
        del self._ids[architecture][model_id]
        if not self._ids[architecture]:
            del self._ids[architecture], self._architectures[digest]
            for number in architecture.numbers.tolist():
                del self._with_layer[number][architecture]
