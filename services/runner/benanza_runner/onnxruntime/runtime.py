"""Layers timed with ONNX Runtime, on the CPU or on an NVIDIA GPU."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from math import inf
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

import msgspec
import onnxruntime as ort
import psutil

from benanza_backbone.settings import CpuLibraries
from benanza_runner import nvidia
from benanza_runner.ceilings import measured_ceilings
from benanza_runner.cpu import available_cores, cpu_name
from benanza_runner.cpu_libraries.cpu_library import Borders, CpuLibrary, CpuWork
from benanza_runner.cpu_libraries.installed import installed_libraries
from benanza_runner.cpu_libraries.library_search import SHARE_OF_CANDIDATE, LibrarySearch, Rules
from benanza_runner.cuda.candidate import refused
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.machine_load import machine_load
from benanza_runner.measuring.busy import (
    OVERHEAD,
    SPREAD,
    WIDE,
    Load,
    as_environment,
    busy_between,
    doubts_in,
)
from benanza_runner.measuring.slowdown import SlowdownDetector
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.collectives import ONE_GPU_ONLY, is_collective
from benanza_runner.onnx_layers.layer_model import LayerModel, LayerModelError, layer_model
from benanza_runner.onnx_layers.onnx_schemas import UnknownVersionError, opsets
from benanza_runner.onnx_layers.precision import PrecisionError, retyped
from benanza_runner.onnxruntime.block_conversions import BlockConversions, Changes
from benanza_runner.onnxruntime.blocked import block_size, maps
from benanza_runner.onnxruntime.copies_timer import CopiesTimer, TimedCopies
from benanza_runner.onnxruntime.forms import LayerForm, forms_of
from benanza_runner.onnxruntime.networks import network_samples_us, network_timer
from benanza_runner.onnxruntime.session import CPU, Provider, empty_calls
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Outcome, Runtime
from benanza_runner.variants import timed_variant
from benanza_schemas.events import Ceiling, System, Variant, identified
from benanza_schemas.identity import fingerprint_of_canonical
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import CacheState, StoppedBy

METHOD = "copies of the layer in one call, warm, the least of a few calls; 6"
"""How layers are timed. Raise the number by one when times change without the system changing."""

SLOWDOWN_CALLS = 50
SLOWDOWN_TOLERANCE = 1.0
"""Calls that do nothing, on one thread. They vary by tens of percent; twice as long is no noise."""

RULE = Rule(warm_up_us=3_000, least_us=20_000, cap_us=40_000)
"""On a shared machine the median hardly ever settles: nine of ten layers are timed to the cap. The
interval of the median grows as the square root of the time shrinks.
"""

SCREENING = Rule(warm_up_us=500, samples=5, least_us=0, few_samples=2, cap_us=20_000, max_samples=5)
"""A few samples tell which of two layouts is the faster."""


class _Own(NamedTuple):
    """What ONNX Runtime takes for a layer: the borders of its form with feature maps as ONNX has
    them, its variants with their times, and those that failed, or why it doesn't run the layer.
    """

    borders: Borders
    timed: Sequence[Variant] = ()
    failed: Sequence[Variant] = ()
    times: Sequence[TimedCopies] = ()
    failure: str = ""


class OnnxRuntime(Runtime):
    """ONNX Runtime on one device.

    `threads` is how many an operator may use; by default as many as there are physical cores for
    this process. A layer of one operator is run as it stands. A group is run as the one node that
    ONNX Runtime fuses it to; a group that it doesn't fuse is a failed variant. Either way, many
    copies of the node go into one call, which is timed. On a CPU, what ONNX Runtime makes of it
    where feature maps are in blocks of channels is a variant of its own. A network is run operator
    by operator, on CPUs only. `load` reads how busy the machine is.

    On a CPU, `libraries` offer candidates beside it; `all` are those that are installed. They are
    checked against ONNX Runtime's result in float32. `journal` is the file of a `Guard` for them,
    which ends the process where one takes more than its share of the `seconds` of a layer.
    """

    def __init__(
        self,
        device: Literal["cpu", "cuda"] = "cpu",
        threads: int | None = None,
        load: Callable[[], Load] = machine_load,
        libraries: Sequence[CpuLibrary] | CpuLibraries = "all",
        journal: str = "",
        seconds: float = 60.0,
    ) -> None:
        self._device = device
        self._threads = threads or available_cores()
        self._library = f"onnxruntime-{device}"
        self._load = load
        self._timer = CopiesTimer(self._provider("fp32"), self._threads, load)
        self._conversions = BlockConversions(self._timer)
        if libraries == "all" and device == "cpu":
            libraries = installed_libraries()
        self._libraries = () if isinstance(libraries, str) else tuple(libraries)
        guard = Guard(
            Path(journal) if journal else None, seconds * SHARE_OF_CANDIDATE, lambda: None
        )
        rules = Rules(SCREENING, RULE)
        self._others = LibrarySearch(self._libraries, rules, guard, load, seconds)
        self._slowdown = SlowdownDetector(empty_calls(CPU, 1, SLOWDOWN_CALLS), SLOWDOWN_TOLERANCE)

    def _provider(self, precision: Precision) -> Provider:
        if self._device == "cpu":
            return CPU
        # The provider multiplies float32 in TF32 unless told not to.
        options = {"use_tf32": "1" if precision == "tf32" else "0"}
        return Provider("CUDAExecutionProvider", "cuda", options)

    def system(self) -> System:
        """The CPU, or the GPU, and the versions of its libraries."""
        gpu = nvidia.gpu() if self._device == "cuda" else nvidia.NO_GPU
        return identified(
            System(
                system_id="0" * 32,
                runtime="onnxruntime",
                accelerator=gpu.name,
                driver=gpu.driver,
                cuda=gpu.cuda,
                cudnn=gpu.cudnn,
                cublas=gpu.cublas,
                cpu=cpu_name(),
                threads=self._threads,
                libraries={
                    "onnxruntime": ort.__version__,
                    **{library.library: library.version for library in self._libraries},
                },
                method=METHOD,
            )
        )

    def _refusal(self, layer: Layer, precision: Precision) -> str | None:
        """Why this layer can't be tried at this precision, or None if it can."""
        if precision == "tf32" and self._device == "cpu":
            return "TF32 is a mode of GPUs; a CPU has none"
        if layer.execution == "network" and self._device != "cpu":
            return "networks are timed on CPUs only"
        if is_collective(layer):
            return ONE_GPU_ONLY
        try:
            opsets(retyped(layer, precision))
        except (PrecisionError, UnknownVersionError) as error:
            return str(error)
        return None

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        """A variant for each layout, timed as METHOD says, or why there is none."""
        refusal = self._refusal(layer, precision)
        if refusal is not None:
            return Outcome(failure=refusal)
        try:
            model = layer_model(retyped(layer, precision))
            if layer.execution == "network":
                return self._network(layer, model)
            return self._measure(layer, model, precision)
        except LayerModelError as error:
            return Outcome(failure=str(error))
        except MemoryError:
            return Outcome(failure="there is not enough memory for its inputs and weights")
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
            return Outcome(failure=_onnxruntimes(error))

    def _measure(self, layer: Layer, model: LayerModel, precision: Precision) -> Outcome:
        environment = _environment()
        self._conversions.settle(stable=False)  # What a layer before left that failed.
        load = self._load()
        started, began_s = time.perf_counter(), time.monotonic()
        own = self._own(layer, model, precision)
        others = self._others_variants(layer, model, precision, own, began_s)
        if own.failure and not others:
            return Outcome(failure=own.failure)
        variants = [*own.timed, *others]
        if all(variant.failure for variant in variants):
            return Outcome(variants=(*variants, *own.failed), environment=environment)
        environment["seconds"] = f"{time.perf_counter() - started:.3f}"
        if own.times:
            environment["copies"] = str(own.times[-1].copies)
        environment["disturbed_samples"] = str(sum(timed.dropped for timed in own.times))
        environment |= self._busy_since(load, variants)
        self._conversions.settle(stable=not doubts_in(environment))
        return Outcome(variants=(*variants, *own.failed), environment=environment)

    def _own(self, layer: Layer, model: LayerModel, precision: Precision) -> _Own:
        """What ONNX Runtime itself takes for the layer, or why it doesn't run it."""
        provider = self._provider(precision)
        borders = _as_onnx(model, provider, precision)
        try:
            forms = forms_of(layer, model, provider, precision)
            borders = Borders(forms[0].layout, forms[0].reads, forms[0].writes)
            failed = [self._failed(layer, form) for form in forms if _not_as_asked(layer, form)]
            forms = [form for form in forms if not _not_as_asked(layer, form)]
            changes, times = self._changes_and_times(layer, forms, failed, provider)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
            reason = _onnxruntimes(error)
            failure = refused(self._library, layer.title(), "", reason)
            return _Own(borders, failed=[failure], failure=reason)
        return _Own(borders, [*map(self._variant, forms, times, changes)], failed, times)

    def _changes_and_times(
        self, layer: Layer, forms: list[LayerForm], failed: list[Variant], provider: Provider
    ) -> tuple[list[Changes], list[TimedCopies]]:
        """Those of the forms; the last ones of several go to `failed` where they can't be run."""
        while forms:
            try:
                changes = [self._conversions.around(form) for form in forms]
                return changes, self._timed(forms, provider)
            except Exception as error:
                if len(forms) == 1:
                    raise
                failed.append(
                    self._failed(layer, forms.pop()._replace(refusal=_onnxruntimes(error)))
                )
        return [], []

    def _others_variants(
        self, layer: Layer, model: LayerModel, precision: Precision, own: _Own, began_s: float
    ) -> list[Variant]:
        """What the other libraries take for the layer, as variants, or why they don't run it."""
        work = CpuWork(retyped(layer, precision), model, precision, self._threads, own.borders)
        fastest_us = min((time_us(variant)[0] for variant in own.timed), default=inf)
        name = f"{fingerprint_of_canonical(layer)} {precision}"
        return [
            variant
            if variant.failure
            else _with_changes(variant, self._conversions.around(borders))
            for variant, borders in self._others.found(work, layer, name, fastest_us, began_s)
        ]

    def _network(self, layer: Layer, model: LayerModel) -> Outcome:
        environment = _environment()
        load = self._load()
        started = time.perf_counter()
        samples_us = network_samples_us(network_timer(self._threads), model)
        variant = timed_variant(
            self._library,
            layer.title(),
            samples_us,
            StoppedBy.FIXED,
            cache=CacheState.INTERLEAVED,
        )
        environment["seconds"] = f"{time.perf_counter() - started:.3f}"
        environment |= self._busy_since(load, [variant])
        return Outcome(variants=(variant,), environment=environment)

    def _timed(self, forms: Sequence[LayerForm], provider: Provider) -> list[TimedCopies]:
        """The times of one form, or of two that take about as long: channels first, and in blocks.

        ONNX Runtime itself has feature maps in blocks wherever it can. Channels first are only
        screened unless they are faster.
        """
        *others, last = (form.model for form in forms)
        copies = self._timer.copies(last, provider)
        times = [self._timer.timed(model, provider, copies, SCREENING) for model in others]
        times = [timed._replace(stopped_by=StoppedBy.SCREENED) for timed in times]
        times.append(self._timer.timed(last, provider, copies, RULE))
        if median(times[0].samples_us) < median(times[-1].samples_us):
            times[0] = self._timer.timed(forms[0].model, provider, copies, RULE)
        return times

    def _failed(self, layer: Layer, form: LayerForm) -> Variant:
        why = _not_as_asked(layer, form)
        return refused(self._library, layer.title(), form.layout, why)

    def _variant(self, form: LayerForm, timed: TimedCopies, changes: Changes) -> Variant:
        algorithm = "+".join(form.op_types())
        variant = timed_variant(
            self._library, algorithm, timed.samples_us, timed.stopped_by, layout=form.layout
        )
        return _with_changes(variant, changes)

    def _busy_since(self, before: Load, variants: Iterable[Variant]) -> dict[str, str]:
        """What makes the times of a layer doubtful, in the words of the environment."""
        busy = busy_between(before, self._load())
        reasons = [*busy.by]
        if self._slowdown.check():
            reasons.append(OVERHEAD)
        full = (time_us(variant) for variant in variants if variant.stopped_by.in_full)
        if any(iqr_us > WIDE * median_us for median_us, iqr_us in full):
            reasons.append(SPREAD)
        return as_environment(busy, reasons)

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        """The highest rates that the microbenchmarks reach.

        In ONNX Runtime alone: the other libraries reach about the same, and would take several
        times as long. Where a layer is faster in one of them, the analyzer takes its rate.
        """
        alone = OnnxRuntime(self._device, self._threads, self._load, libraries=())
        return measured_ceilings(alone, precision)


def _as_onnx(model: LayerModel, provider: Provider, precision: Precision) -> Borders:
    """The borders of a layer whose feature maps are as ONNX has them, if its neighbours' may be in
    blocks.
    """
    if provider != CPU or precision != "fp32" or not block_size():
        return Borders()
    graph = model.proto.graph
    reads, writes = (tuple(maps(infos).values()) for infos in (graph.input, graph.output))
    return Borders("NCHW", reads, writes) if reads or writes else Borders()


def _with_changes(variant: Variant, changes: Changes) -> Variant:
    return msgspec.structs.replace(
        variant,
        layout_change_us=changes.layout_change_us,
        write_change_us=changes.write_change_us,
    )


def _onnxruntimes(error: Exception) -> str:
    return short_reason(f"ONNX Runtime: {short_reason(str(error))}")


def _not_as_asked(layer: Layer, form: LayerForm) -> str:
    """Why the nodes that ONNX Runtime would run are no measure of the layer, if they aren't."""
    if form.refusal:
        return form.refusal
    asked = [operator.op_type for operator in layer.operators]
    ran = form.op_types()
    if ran.count("Cast") > asked.count("Cast"):
        return "ONNX Runtime has no kernel for this type: it casts to float32 and back"
    if len(asked) > 1 and len(ran) > 1:
        return f"ONNX Runtime runs it as {len(ran)} calls: {', '.join(ran)}"
    if not ran:
        return "ONNX Runtime computes it beforehand: there is nothing left to run"
    return ""


def _environment() -> dict[str, str]:
    environment = {"load_average": f"{os.getloadavg()[0]:.2f}"}
    frequency = psutil.cpu_freq()
    if frequency is not None:
        environment["cpu_mhz"] = f"{frequency.current:.0f}"
    return environment
