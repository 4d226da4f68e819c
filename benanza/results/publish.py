"""What was published, and the models of the zoo, to try it with."""

from typing import ClassVar

from benanza.results.result import Result
from benanza_backbone.document import Document


class PublishedModel(Result, frozen=True, kw_only=True):
    """A model that was published.

    `model` is as it was named, or where it stands in a listing. `inline` says that the file
    travels in the event; else the services fetch it from `uri`. `batch_sizes` empty means the
    model's own, and 1 where it leaves that open. `warning` is empty, or says what to see to.
    """

    model: str
    name: str
    zoo: str
    sha256: str
    uri: str
    inline: bool
    batch_sizes: tuple[int, ...]
    dims: dict[str, int]
    event_id: str
    warning: str


class UnpublishedModel(Result, frozen=True, kw_only=True):
    """A model that could not be published, and why."""

    model: str
    reason: str


class Published(Result, frozen=True, kw_only=True):
    """What was published, and what was not, each in the order in which it was named."""

    _rows: ClassVar[str] = "models"

    models: tuple[PublishedModel, ...]
    errors: tuple[UnpublishedModel, ...]


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
