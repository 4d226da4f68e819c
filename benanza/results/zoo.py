"""Models to try."""

from benanza.results.result import Result
from benanza_backbone.document import Document


class ZooModel(Document, frozen=True, kw_only=True):
    """A model of the zoo, by the name that commands take: what it is for, the packages that its
    graph is from, their licence, the SHA-256 (hexadecimal) of its file, and the number of nodes.
    """

    model: str
    task: str
    source: str
    licence: str
    sha256: str
    nodes: int


class Zoo(Result, frozen=True, kw_only=True):
    """The zoo's models: those of the onnx package, and then the others, each by name."""

    models: tuple[ZooModel, ...]
