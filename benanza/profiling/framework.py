"""The port to a framework, which runs whole models in its own way.

`tests/benanza/profiling/framework_contract.py` is the suite that every adapter passes. An adapter
is found by the entry points of its package, so a framework can be added without changing Benanza:

    [project.entry-points."benanza.frameworks"]
    my_framework = "my_package.my_module:MyFramework"

What can be set in it against lost time is told by `benanza.profiling.remedies`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

import numpy as np

from benanza.profiling.whole_model import Arrays, WholeModel
from benanza_backbone.errors import BenanzaError
from benanza_runner.arrays import Array
from benanza_schemas.events import FrameworkCall, RunTimes, System
from benanza_schemas.layer import Precision

ENTRY_POINTS = "benanza.frameworks"

Session = Callable[[Arrays], Sequence[Array]]
"""Runs a loaded model to the end for inputs of the names, types and shapes of `WholeModel.inputs`,
and returns the outputs in the order of the model's graph, which stay as they are when it is called
again. One call at a time, from any thread.
"""


class Configuration(NamedTuple):
    """What is set in a framework: in words, and by the framework's own names."""

    name: str
    options: Mapping[str, str]


class Profile(NamedTuple):
    """What came of running a model: the fields of `ModelProfiled` of these names.

    A framework that can't look into a run leaves out `times_looked_at` and `calls`; where it failed
    to, `failure` says why, and `times` stay.
    """

    times: RunTimes | None = None
    times_looked_at: RunTimes | None = None
    calls: tuple[FrameworkCall, ...] = ()
    environment: Mapping[str, str] = {}
    failure: str = ""


class ObservedRun(NamedTuple):
    """An execution that a framework's own profiler saw: when it began, in microseconds of the clock
    of `time.time`, how long it took, and its calls, each of which began so long after it.
    """

    start_us: float
    us: float
    calls: tuple[FrameworkCall, ...]


class Observed(ABC):
    """A loaded model that runs while the framework's profiler looks."""

    @abstractmethod
    def run(self, inputs: Arrays) -> Sequence[Array]:
        """Runs it, as a `Session` does."""

    @abstractmethod
    def runs(self) -> list[ObservedRun]:
        """Each execution by `run`, in their order. Ends the profiler, so nothing runs after it."""


class Framework(ABC):
    """Runs models and times them. What is wrong with a model is part of the profile and never an
    exception.
    """

    @abstractmethod
    def system(self) -> System:
        """The machine, with the versions of the framework, its `runtime`, and of its libraries."""

    @abstractmethod
    def configurations(self) -> tuple[Configuration, ...]:
        """What can be set. The first is what those have who set nothing."""

    def matters(self, model: WholeModel, configuration: Configuration) -> bool:
        """Whether a configuration makes a difference for the model. Others aren't run."""
        return True

    @abstractmethod
    def profile(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Profile:
        """Times executions of the model: first whole ones, and then others in which each call is
        timed, so that what looking costs is seen.

        Layers are named by their positions in the model.
        """

    @abstractmethod
    def load(
        self, model: WholeModel, precision: Precision, configuration: Configuration
    ) -> Session:
        """Prepares the model once, to answer requests. Raises `BenanzaError`, of one line, where it
        can't be run so.
        """

    def memory_like(self, array: Array) -> Array:
        """Memory on the host for inputs of this shape and type, from which the device reads them
        soonest.
        """
        return np.empty_like(array)

    def observe(
        self, model: WholeModel, precision: Precision, configuration: Configuration, *, gpu: bool
    ) -> AbstractContextManager[Observed]:
        """Loads the model as `load` does, with the framework's own profiler at work: at its calls,
        as the host sees them, or with `gpu` at what they do there. Raises `BenanzaError` as `load`
        does, and where the profiler doesn't tell one execution from another.
        """
        raise BenanzaError(
            f"the profiler of {self.system().runtime} doesn't tell single executions; "
            "benanza profile has their medians"
        )


def configuration_named(framework: Framework, name: str) -> Configuration:
    """The framework's configuration of this name, its first one if that is empty. Raises
    `BenanzaError` if it has none.
    """
    known = {each.name: each for each in framework.configurations()}
    if name and name not in known:
        raise BenanzaError(
            f"{framework.system().runtime} has no configuration {name!r} here; it has "
            f"{', '.join(known)}"
        )
    return known[name] if name else next(iter(known.values()))


def framework_named(name: str) -> Framework:
    """The framework of this name, ready to run models. Raises `BenanzaError` if there is none, or
    if it can't run here.
    """
    known = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in known:
        raise BenanzaError(
            f"there is no framework {name!r}; installed are {', '.join(sorted(known)) or 'none'}"
        )
    try:
        made: Framework = known[name].load()()
    except ImportError as error:
        how = _installation(known[name], error.name or name)
        raise BenanzaError(f"framework {name} can't be loaded: {error}; {how}") from error
    return made


def _installation(entry: EntryPoint, missing: str) -> str:
    """How to install what a framework needs: an extra of its package may have its name, or ask for
    the package that is missing.
    """
    if entry.dist is None:
        return "install it"
    requirements = entry.dist.requires or ()
    extras = [
        extra
        for extra in entry.dist.metadata.get_all("Provides-Extra") or ()
        if extra == entry.name
        or any(each.startswith(missing) and f"extra == '{extra}'" in each for each in requirements)
    ]
    return f"say: pip install '{entry.dist.name}[{extras[0]}]'" if extras else "install it"
