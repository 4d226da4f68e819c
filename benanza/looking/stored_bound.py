"""What the store holds about a bound: enough to compute it again, under any policy."""

from collections import defaultdict
from typing import NamedTuple

from benanza.results.profile import ModelProfile
from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.answers.policies import FASTEST, HEURISTIC, POLICIES, Policy
from benanza_analyzer.answers.under_policy import under
from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import (
    stored_measurements,
    stored_model,
    stored_system,
)
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import (
    LayerMeasured,
    ModelIngested,
    SystemMeasured,
    device,
)


def described_system(store: Store, system_id: str) -> SystemMeasured:
    """A system as the store describes it. Raises `BenanzaError` if it doesn't: then measurements of
    the system came without its `SystemMeasured`.
    """
    try:
        return stored_system(store, system_id)
    except LookupError as error:
        raise BenanzaError(
            f"the system {system_id[:8]} has measured layers, but nothing says what it is: its "
            "SystemMeasured is missing; import the recording that has it, or start a runner there"
        ) from error


class StoredBound(NamedTuple):
    """A bound, its model, the system, and the measurements of all layers and groups there."""

    bound: ModelBound
    model: ModelIngested
    system: SystemMeasured
    measurements: list[LayerMeasured]

    @classmethod
    def of(cls, store: Store, bound: ModelBound) -> "StoredBound":
        """Reads it from the store. Raises `BenanzaError` if the system isn't described there."""
        model = stored_model(store, bound.model_id)
        system = described_system(store, bound.system_id)
        of = (model.architecture_id, system.system, bound.precision)
        return cls(bound, model, system, stored_measurements(store, *of))

    def cover(self, policy: Policy = FASTEST, *, fusion: bool) -> Cover:
        """The calls of the bound, with groups or without, of what the policy takes."""
        bound = self.bound
        return under(policy, self.model, self.system, self.measurements).cover(
            self.model.architecture_id,
            bound.system_id,
            bound.precision,
            bound.accounting,
            fusion=fusion,
        )

    def asked_heuristics(self) -> bool:
        """Whether a library's heuristic chose any of the variants."""
        return any(
            variant.chosen_by_heuristic for of in self.measurements for variant in of.variants
        )

    def other_policies(self) -> list[Policy]:
        """What the bound may be compared with: heuristics' choices only where some were asked."""
        asked = self.asked_heuristics()
        return [
            policy for policy in POLICIES if policy != FASTEST and (policy != HEURISTIC or asked)
        ]

    def is_beside(self, profile: ModelProfile) -> bool:
        """Whether it is a run of the same model on the same device and at the same precision."""
        bound = self.bound
        same = bound.model_id, bound.precision, device(self.system.system)
        return (profile.model_id, profile.precision, profile.device) == same

    def by_layer(self, policy: Policy = FASTEST) -> dict[str, list[LayerMeasured]]:
        """What the policy takes of the measurements of each layer and group, by fingerprint."""
        taken: dict[str, list[LayerMeasured]] = defaultdict(list)
        for measurement in self.measurements:
            taken[measurement.fingerprint].append(policy.of(measurement))
        return taken

    def ceilings(self) -> PlatformCeilings | None:
        """The system's highest rates at the bound's precision, None where they aren't known."""
        ceilings = SystemCeilings()
        ceilings.add(self.system)
        return ceilings.of(self.bound.precision)
