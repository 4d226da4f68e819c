"""What calls take within a model: layout conversions around them, and other kernels before them."""

from collections.abc import Iterator, Sequence

import msgspec

from benanza_runner.cuda.candidate import refused
from benanza_runner.cuda.device_tensor import AppendedTensor
from benanza_runner.cuda.layouts import feature_map_layout
from benanza_runner.cuda.search.check import Checked, timed
from benanza_runner.cuda.search.guard import BLOCKLISTED, Guard
from benanza_runner.cuda.search.instruments import InterleavedTimer
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.search import VariantSamples
from benanza_schemas.events import Variant
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import GENERATED, CacheState, StoppedBy

INTERLEAVED = "company"
"""The `library` of the variant that says why there are no interleaved times. Events store it."""

OF_A_LIBRARY = "of a library"


def to_interleave(variants: Sequence[Variant]) -> list[int]:
    """Places of the fastest variant in each layout of feature maps, of the fastest without, and of
    the fastest of a library.

    Of two with the same median it is the one with less spread. The analyzer chooses in the same
    way, and then looks for this variant's interleaved times.
    """
    best: dict[str, int] = {}
    for place in sorted(range(len(variants)), key=lambda place: time_us(variants[place])):
        best.setdefault(feature_map_layout(variants[place].layout), place)
        if variants[place].library != GENERATED:
            best.setdefault(OF_A_LIBRARY, place)
    return list(dict.fromkeys(best.values()))


class WithinModels:
    """Adds to timed variants what they take within a model. Without `interleaved`, it only adds
    layout conversions.
    """

    def __init__(
        self, conversions: LayoutConversions, interleaved: InterleavedTimer | None, guard: Guard
    ) -> None:
        self._conversions = conversions
        self._interleaved = interleaved
        self._guard = guard

    def forget(self) -> None:
        """Drops the times that one layer leaves for the next."""
        self._conversions.forget()
        if self._interleaved is not None:
            self._interleaved.forget()

    def added(
        self,
        checked: Sequence[Checked],
        warm: Sequence[Variant],
        workspace: Workspace,
        name: str,
    ) -> list[Variant]:
        """These variants with the times of layout conversions, and the best of them interleaved.

        `warm` holds the times of `checked`, in their order. Where the interleaved timing fails, it
        costs nothing but itself: a failed variant says why.
        """
        with self._guard.running(f"{name} layout conversions"):
            converted = [self._converted(variant, workspace) for variant in warm]
        if self._interleaved is None:
            return [*converted]
        work = f"{name} interleaved"
        if self._guard.blocklisted(work):
            return [*converted, refused(INTERLEAVED, "none", "", BLOCKLISTED)]
        with self._guard.running(work):
            try:
                interleaved = [
                    self._converted(variant, workspace)
                    for place in to_interleave(converted)
                    for variant in _interleaved(
                        self._interleaved, checked[place], converted[place], workspace
                    )
                ]
            except Exception as error:  # noqa: BLE001  # the times so far are good without
                self._guard.end_if_lasting(error)
                return [*converted, refused(INTERLEAVED, "none", "", error)]
        return [*converted, *interleaved]

    def _converted(self, variant: Variant, workspace: Workspace) -> Variant:
        """The variant with the times of conversions around it, taken as its own time was."""
        around = self._conversions.around(workspace, variant.layout)
        after = self._conversions.after(workspace, variant.layout)
        alone = variant.cache == CacheState.WARM
        return msgspec.structs.replace(
            variant,
            layout_change_us=around and (around.alone_us if alone else around.interleaved_us),
            write_change_us=after.alone_us if alone else after.interleaved_us,
        )


def _interleaved(
    timer: InterleavedTimer, checked: Checked, warm: Variant, workspace: Workspace
) -> Iterator[Variant]:
    """The variant interleaved with other kernels, with its weights warm and cold."""
    if checked.candidate.in_place:
        # Nothing is started, so no other kernel comes before it, and nothing is read.
        for cache in (CacheState.INTERLEAVED, CacheState.WEIGHTS_COLD):
            yield timed(checked, VariantSamples(warm.samples_us, StoppedBy.FIXED), cache)
        return
    run = checked.candidate.run
    call_us, _ = time_us(warm)
    samples = timer.interleaved_us(run, call_us)
    yield timed(checked, VariantSamples(samples, StoppedBy.FIXED), CacheState.INTERLEAVED)
    read = workspace.read(checked.candidate.layout)
    written = checked.candidate.result, *checked.candidate.more
    # Of a cache, a call writes little.
    result = next(tensor for tensor in written if not isinstance(tensor, AppendedTensor))
    samples = timer.weights_cold_us(run, call_us, read, result, checked.scratch)
    yield timed(checked, VariantSamples(samples, StoppedBy.FIXED), CacheState.WEIGHTS_COLD)
