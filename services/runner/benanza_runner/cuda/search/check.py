"""Does a candidate run, and is its result right? Each is run once or twice, under guard."""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from benanza_runner.cuda.calls import CachedAttention, Quantised
from benanza_runner.cuda.candidate import Candidate, NotApplicableError, failed
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.elements import FLOAT8
from benanza_runner.cuda.lowering.regions.as_region import as_region
from benanza_runner.cuda.search.guard import BLOCKLISTED, Guard
from benanza_runner.cuda.search.instruments import Timer
from benanza_runner.cuda.search.replays import SCREENING_US
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.error import ROUNDED, wrong
from benanza_runner.measuring.search import Batch, VariantSamples
from benanza_runner.variants import timed_variant
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import Variant
from benanza_schemas.vocabulary import CacheState

EIGHT_BITS = frozenset(("int8", "uint8", FLOAT8))

ROUNDED_TO_FLOAT8 = 4e-2
"""The tolerance of float8e4m3fn that were rounded. Numbers of three bits of mantissa are 6 to 12%
apart, so the error is 0.04 where one in five is the next one. Rounded towards zero, it is 0.06."""

SUMMED_FLOAT8 = 2e-2
"""The tolerance of floats that are sums of products of float8. It assumes that Tensor Cores of
Hopper keep 13 bits of such a sum behind its first one and cut the rest off, which was simulated,
not measured: then the error is 0.002 after 4096 terms, and 0.01 after 16,384. A number that was
rounded to float8 by mistake is off by 0.027."""


class Checked(NamedTuple):
    """A candidate whose result is right, with its scratch memory.

    `once` is a replay of one call; `once_us` is how long that took in microseconds, with the start
    of the replay.
    """

    candidate: Candidate
    scratch_bytes: int
    scratch: Any | None
    once: Batch
    once_us: float


def check(
    candidate: Candidate,
    workspace: Workspace,
    expected: Sequence[Any],
    name: str,
    timer: Timer,
    guard: Guard,
    pruned_us: float = inf,
) -> Checked | Variant | None:
    """The candidate if its results are those `expected`, float32 arrays on the device, or why it
    failed; None if it isn't meant.

    `name` tells the work from other work in the guard's journal. The candidate runs a second time
    if a run takes less than screening does, and if it takes longer than `pruned_us`, because then
    it isn't run again.
    """
    watched = candidate_name(name, candidate)
    if guard.blocklisted(watched):
        return failed(candidate, BLOCKLISTED)
    try:
        with guard.watching(watched):
            scratch_bytes = candidate.prepare()
            scratch = workspace.last_scratch(scratch_bytes)
            # Candidates only ever run as graphs: some of cuDNN's algorithms make the process slow
            # when they are run outside of one (docs/gpu.md).
            once = timer.replayed(candidate.run, 1)
        with guard.running(watched):
            written = candidate.result, *candidate.more
            for result in () if candidate.in_place else written:
                result.poison()
            once_us = once.call_us()
            errors = [
                workspace.memory.relative_error(result.floats(), wanted)
                for result, wanted in zip(written, expected, strict=True)
            ]
            allowed = (tolerance(workspace, result) for result in written)
            reason = next(filter(None, map(wrong, errors, allowed)), "")
            if reason:
                return failed(candidate, reason)
            if not SCREENING_US <= once_us <= pruned_us:
                once_us = min(once_us, once.call_us())
    except NotApplicableError:
        return None
    except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
        guard.end_if_lasting(error)
        return failed(candidate, error)
    return Checked(candidate, scratch_bytes, scratch, once, once_us)


def tolerance(workspace: Workspace, result: DeviceTensor) -> float:
    """Elements other than floats are exact, unless they were rounded: then a few may be the next
    ones.
    """
    call, allowed = workspace.call, PRECISIONS[workspace.precision].tolerance
    if not result.element:
        summed = isinstance(call, Quantised) and call.of_float8
        return max(SUMMED_FLOAT8, allowed) if summed else allowed
    if result.element not in EIGHT_BITS:
        return PRECISIONS["fp32"].tolerance
    region = as_region(call, workspace.computed)
    if isinstance(call, (CachedAttention, Quantised)) or (region is not None and region.rounds):
        return max(ROUNDED_TO_FLOAT8 if result.element == FLOAT8 else ROUNDED, allowed)
    return PRECISIONS["fp32"].tolerance


def timed(
    checked: Checked, samples: VariantSamples, cache: CacheState = CacheState.WARM
) -> Variant:
    """The variant that a candidate is, with these samples."""
    return timed_variant(
        checked.candidate.library,
        checked.candidate.algorithm,
        samples.samples_us,
        samples.stopped_by,
        layout=checked.candidate.layout,
        cache=cache,
        workspace_bytes=checked.scratch_bytes,
        chosen_by_heuristic=checked.candidate.chosen_by_heuristic,
    )


def candidate_name(name: str, candidate: Candidate) -> str:
    """The candidate of this work, as the guard's journal names it: one line."""
    return f"{name} {candidate.library} {candidate.layout} {candidate.algorithm}"
