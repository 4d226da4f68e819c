"""`benanza spec`: what a known bound was found with. Nothing is benchmarked."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import msgspec

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import described_system
from benanza.request import BoundPolicy
from benanza.results.specs import (
    SPEC_VERSION,
    Spec,
    SpecifiedBound,
    SpecifiedData,
    SpecifiedModel,
)
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import stored_model
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.core import INGEST_VERSION
from benanza_ingest.limits import limits_of
from benanza_runner.onnx_layers.random_values import SEED
from benanza_schemas.events import System

RANDOM = "random"


def known_spec(
    settings: Settings,
    model: str,
    policy: BoundPolicy,
    dims: Mapping[str, int],
) -> Spec:
    """The spec of the one bound of the model that is meant, with these dimensions.

    Raises `BenanzaError` if there is none, or more than one.
    """
    with known_store(settings) as store:
        known = store.bounds(model_ids(store, [model], limits_of(settings)))
        bounds = matching_bounds(known, policy, dims)
        if len(bounds) != 1:
            raise BenanzaError(_not_one(model, bounds))
        return spec_of(store, model, bounds[0])


def spec_of(store: Store, source: str, bound: ModelBound) -> Spec:
    """The spec of a bound in the store, whose model's file is at `source`."""
    event = stored_model(store, bound.model_id)
    system = described_system(store, bound.system_id).system
    return Spec(
        version=SPEC_VERSION,
        model=SpecifiedModel(
            source=source,
            name=bound.model,
            sha256=event.sha256,
            batch=bound.batch,
            dims=bound.dims,
            quantised=event.quantised,
            tensor_parallel=event.tensor_parallel,
        ),
        data=SpecifiedData(weights=RANDOM, inputs=RANDOM, seed=SEED),
        software=_known(_software(system)),
        hardware=_known(
            {"accelerator": system.accelerator, "cpu": system.cpu, "threads": str(system.threads)}
        ),
        bound=msgspec.convert(bound, SpecifiedBound, from_attributes=True),
    )


def read_spec(file: Path) -> Spec:
    """The spec in a file. Raises `BenanzaError` if it holds none."""
    try:
        spec = msgspec.json.decode(file.read_bytes(), type=Spec)
    except OSError as error:
        raise BenanzaError(f"{file} can't be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BenanzaError(f"{file} is no spec ({error}); benanza spec writes one") from error
    if spec.version != SPEC_VERSION:
        raise BenanzaError(
            f"{file} has version {spec.version} of specs, and this Benanza reads {SPEC_VERSION}; "
            "use the Benanza that wrote it"
        )
    return spec


def _software(system: System) -> dict[str, str]:
    return {
        "benanza": version("benanza"),
        "ingest": INGEST_VERSION,
        "runtime": system.runtime,
        "method": system.method,
        "driver": system.driver,
        "cuda": system.cuda,
        "cudnn": system.cudnn,
        "cublas": system.cublas,
        **system.libraries,
    }


def _known(names: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in names.items() if text}


def _not_one(model: str, bounds: Sequence[ModelBound]) -> str:
    if not bounds:
        return f"no such bound of {model} is known; benanza bounds shows those that are"
    choices = sorted(f"batch {b.batch} on {b.system_id[:8]} at {b.precision}" for b in bounds)
    return (
        f"there are {len(bounds)} such bounds of {model} ({'; '.join(choices)}): name one by "
        "--batch, --dim, --system or --precision"
    )
