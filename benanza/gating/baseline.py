"""The earlier run that a run must not be slower than: of a gate's document, or of the store."""

import json
import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from benanza.gating.results import Gate, GatedRun
from benanza.profiling.repetitions import medians_us
from benanza_backbone.clickhouse.rows import utc
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import RunTimes
from benanza_schemas.one_line import one_line

SLOWED_BY = "slowed_by"
"""Where a run's environment says what slowed the machine down meanwhile."""


class InRevision(NamedTuple):
    """A file in a revision of the Git repository here, as Git names it: `main:gate.json`."""

    name: str

    def __str__(self) -> str:
        return one_line(self.name)


def document(name: str) -> Path | InRevision:
    """The file of this name, if it is there or no revision is named; else that in the revision."""
    revision, _, file = name.partition(":")
    in_revision = revision and file and not os.path.exists(name)  # noqa: PTH110  # raises nothing
    return InRevision(name) if in_revision else Path(name)


Baseline = Path | InRevision | datetime
"""What `benanza gate --format json` printed, or a time, as of which the store's runs count."""

_EARLIER = """
SELECT median_us, iqr_us, samples_us, environment FROM profiles FINAL
WHERE model_id IN {models:Array(String)}
  AND device = {device:String} AND precision = {precision:String}
  AND framework = {framework:String} AND configuration = {configuration:String}
  AND isNotNull(median_us) AND profiled_at <= {at:DateTime64(6, 'UTC')}
  AND event_id != {event:String}
ORDER BY profiled_at DESC, event_id DESC
LIMIT 1
"""

_SAME_NAME = "SELECT model_id, batch, dims FROM models WHERE name = {model:String}"


def _shown(file: InRevision) -> bytes:
    """What Git has of it. Raises `BenanzaError` if it has nothing."""
    command = ["git", "show", "--no-textconv", "--end-of-options", file.name]
    try:
        return subprocess.run(command, capture_output=True, check=True).stdout
    except ValueError as error:
        raise BenanzaError(f"{file} is no name of a file in a revision: {error}") from error
    except FileNotFoundError as error:
        raise BenanzaError(f"{file} is in a revision, and there is no git; install it") from error
    except subprocess.CalledProcessError as error:
        said = one_line(error.stderr.decode(errors="replace").strip().removeprefix("fatal: "))
        raise BenanzaError(
            f"Git has no {file} ({said}); name a file, a file in a revision as main:gate.json, or "
            "a time"
        ) from error


class EarlierRun(NamedTuple):
    """The medians of an earlier run's repetitions, and what slowed the machine down meanwhile."""

    medians_us: tuple[float, ...]
    slowed_by: str


class Earlier:
    """The runs of a baseline. Raises `BenanzaError` for a file that is no gate's document."""

    def __init__(self, baseline: Baseline, repetitions: int) -> None:
        self._baseline = baseline
        self._repetitions = repetitions
        self._runs = () if isinstance(baseline, datetime) else _read(baseline).runs

    def run_beside(self, store: Store, run: GatedRun, event_id: str) -> EarlierRun | str:
        """The run of the same model, at the same sizes and precision, by the same framework
        with the same configuration on the same device; or why there are none. Models are the same
        by name: their files may have changed. `event_id` is that of the run itself.
        """
        if isinstance(self._baseline, datetime):
            return self._stored(store, run, event_id, self._baseline)
        alike = [earlier for earlier in self._runs if _what(earlier) == _what(run)]
        here = [earlier for earlier in alike if earlier.device == run.device]
        if not alike:
            return f"{self._baseline} has no such run"
        if not here:
            return f"{self._baseline} is of another device: {alike[0].device}"
        if not here[-1].medians_us:
            return f"that run of {self._baseline} failed: {here[-1].failure}"
        return EarlierRun(here[-1].medians_us, here[-1].slowed_by)

    def _stored(self, store: Store, run: GatedRun, event_id: str, at: datetime) -> EarlierRun | str:
        named = store.query(_SAME_NAME, {"model": run.model})
        same = [
            row["model_id"] for row in named if (row["batch"], row["dims"]) == (run.batch, run.dims)
        ]
        parameters = {
            "models": sorted({run.model_id, *same}),
            "device": run.device,
            "precision": run.precision,
            "framework": run.framework,
            "configuration": run.configuration,
            "at": utc(at),
            "event": event_id,
        }
        row = next(iter(store.query(_EARLIER, parameters)), None)
        if row is None:
            return f"no such run is stored as of {at:%Y-%m-%d %H:%M:%S}"
        times = RunTimes(row["median_us"], row["iqr_us"], tuple(row["samples_us"]))
        slowed_by = row["environment"].get(SLOWED_BY, "")
        return EarlierRun(medians_us(times, self._repetitions), slowed_by)


def _what(run: GatedRun) -> tuple[object, ...]:
    sizes = tuple(sorted(run.dims.items()))
    return run.model, run.batch, sizes, run.precision, run.framework, run.configuration


def _read(path: Path | InRevision) -> Gate:
    try:
        content = _shown(path) if isinstance(path, InRevision) else path.read_bytes()
        return msgspec.convert(json.loads(content), Gate)
    except OSError as error:
        raise BenanzaError(
            f"{path} can't be read: {error.strerror}; name another file, or a time"
        ) from error
    except (RecursionError, ValueError) as error:
        raise BenanzaError(
            f"{path} isn't what benanza gate --format json prints; record it again"
        ) from error
