"""What `benanza tasks` wrote, and what came of a solution."""

from benanza.results.result import Result
from benanza_backbone.document import Document
from benanza_schemas.events import Limit
from benanza_schemas.layer import Precision


class WrittenTask(Document, frozen=True, kw_only=True):
    """A task in its folder, by its fields. `lacks` says which references and formats it lacks."""

    folder: str
    name: str
    op: str
    layer: str
    calls: int
    known_us: float
    known_by: str
    light_us: float | None
    limited_by: Limit | None
    gap_us: float
    lacks: tuple[str, ...]


class UnwrittenTask(Document, frozen=True, kw_only=True):
    """A kind of calls with a larger gap than some task, for which none could be written."""

    op: str
    layer: str
    gap_us: float
    reason: str


class WrittenTasks(Result, frozen=True, kw_only=True):
    """The tasks of a model's bound, those with the largest gap first."""

    model: str
    system: str
    system_id: str
    precision: Precision
    tasks: tuple[WrittenTask, ...]
    unwritten: tuple[UnwrittenTask, ...]


class SolvedTask(Result, frozen=True, kw_only=True):
    """A kernel that solves a task: its time, and the best of a library's calls here.

    `stable` is whether the machine did nothing else meanwhile. `unconfined` is what it could have
    reached, since this system can't keep it away.
    """

    task: str
    author: str
    algorithm: str
    us: float
    iqr_us: float
    calls: int
    known_us: float
    known_by: str
    stable: bool
    unconfined: tuple[str, ...]
