"""What can be set in a framework against lost time.

It is known apart from the framework itself, so that advice about a run on another machine is
complete where the framework isn't installed. A package brings it by an entry point of the same
name as that of its framework:

    [project.entry-points."benanza.remedies"]
    my_framework = "my_package.my_options:MyRemedies"
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Literal, NamedTuple

from benanza.profiling.framework import Configuration
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.errors import BenanzaError

ENTRY_POINTS = "benanza.remedies"


class Remedy(NamedTuple):
    """What to type or to set. `configuration` names the one of the framework that does this and
    nothing else, so that a run with it shows what was saved; empty if there is none.
    """

    do: str
    configuration: str = ""


Joins = Literal["nothing", "all but products", "as the bound"]
"""Which calls a configuration joins: none of them; those between products, which stay; all that the
bound joins, and then they are as fast as there.
"""


class Better(NamedTuple):
    """A configuration that is meant to be faster for every model, which calls it joins, and whether
    time passes between them.
    """

    configuration: Configuration
    joins: Joins
    between_calls: bool


class Remedies(ABC):
    """What a framework has against lost time, on a GPU or on the CPU."""

    @abstractmethod
    def remedy(
        self, kind: InefficiencyKind, op: str, configuration: str, *, on_gpu: bool
    ) -> Remedy | None:
        """What to do against time that is lost in this way in these operators, as in `Advice`, with
        the configuration of this name; `None` if nothing is known.
        """

    @abstractmethod
    def better(self, configuration: str, *, on_gpu: bool) -> Better | None:
        """What to set instead of the configuration of this name; `None` if nothing is meant to be
        faster for every model.
        """

    def states_in_place(self, ops: Sequence[str]) -> Remedy | None:
        """What keeps states in place that these operators of the framework copy in a run; `None` if
        nothing is known, or if no run copies them.
        """
        return None

    def same_calls(self, configuration: str) -> str:
        """The configuration that makes the same calls as this one, but one by one so that they can
        be timed; empty if there is none.
        """
        return ""


def remedies_of(framework: str) -> Remedies | None:
    """What is known of the framework of this name; `None` if no package brings that. Raises
    `BenanzaError` if it can't be loaded.
    """
    for entry in entry_points(group=ENTRY_POINTS, name=framework):
        try:
            made: Remedies = entry.load()()
        except ImportError as error:
            raise BenanzaError(
                f"what is known of {framework} can't be loaded ({error}): {entry.value} must not "
                "import the framework"
            ) from error
        return made
    return None
