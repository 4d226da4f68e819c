"""`benanza run --spec`: finds a bound again, and says what differs."""

from collections.abc import Iterator

from benanza.installation.configured import known_store
from benanza.looking.spec import spec_of
from benanza.request import BoundPolicy, RunRequest
from benanza.results.specs import Reproduced, Spec, SpecDifference
from benanza.running.pipeline import run
from benanza.running.progress import RunProgress
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.source import fetch
from benanza_runner.runtimes import AUTO, runtime_names
from benanza_schemas.events.derivation import Derivation

CUDA_NAME = "cuda"


def reproduce(spec: Spec, source: str, settings: Settings, progress: RunProgress) -> Reproduced:
    """Runs the model of the spec here, from the file at `source`.

    Layers that were measured here before keep their times. Raises `BenanzaError` if the file is
    another one, if it has no bound here, and as `run` does.
    """
    found_sha256 = fetch(source, limits_of(settings)).sha256
    if found_sha256 != spec.model.sha256:
        raise BenanzaError(
            f"{source} is another file than that of the spec (SHA-256 {found_sha256}, not "
            f"{spec.model.sha256}); name that one"
        )
    asked = spec.bound
    request = RunRequest(
        models=(source,),
        batch_sizes=(spec.model.batch,),
        dims=spec.model.dims,
        policy=BoundPolicy((asked.precision,), asked.fusion, asked.accounting),
        runtime=_runtime(spec),
        derivations=(Derivation(spec.model.quantised, spec.model.tensor_parallel),),
    )
    ran = run(request, settings, progress)
    if ran.errors:
        raise BenanzaError(ran.errors[0].reason)
    (bound,) = ran.bounds
    with known_store(settings) as store:
        now = spec_of(store, source, bound)
    return Reproduced(
        spec=spec,
        bound=bound,
        same=is_same(spec, now),
        differences=tuple(differences(spec, now)),
        layers=ran.layers,
    )


def _runtime(spec: Spec) -> str:
    """The spec's runtime, or the best that works if that isn't installed here. That of GPUs is the
    best wherever it works.
    """
    named = spec.software.get("runtime", AUTO)
    return named if named in runtime_names() and named != CUDA_NAME else AUTO


def is_same(then: Spec, now: Spec) -> bool:
    """Whether the sequential figures differ by no more than both their spreads together, and both
    bounds are whole or partial alike.
    """
    us, now_us = then.bound.sequential_us, now.bound.sequential_us
    if then.bound.partial != now.bound.partial or us is None or now_us is None:
        return False
    spreads = (spec.bound.sequential_spread_us or 0.0 for spec in (then, now))
    return abs(now_us - us) <= sum(spreads)


def differences(then: Spec, now: Spec) -> Iterator[SpecDifference]:
    """What is otherwise now: the data's seed, software and hardware."""
    for before, after in (
        ({"seed": str(then.data.seed)}, {"seed": str(now.data.seed)}),
        (then.hardware, now.hardware),
        (then.software, now.software),
    ):
        for what in sorted(before.keys() | after.keys()):
            was, is_now = before.get(what, ""), after.get(what, "")
            if was != is_now:
                yield SpecDifference(what=what, then=was, now=is_now)
