"""Layers timed with ONNX Runtime, on the CPU or on an NVIDIA GPU."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Literal

import msgspec
import onnxruntime as ort
import psutil

from benanza_runner import nvidia
from benanza_runner.ceilings import measured_ceilings
from benanza_runner.cpu import available_cores, cpu_name
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
from benanza_runner.onnxruntime.copies_timer import CopiesTimer, TimedCopies
from benanza_runner.onnxruntime.forms import LayerForm, forms_of
from benanza_runner.onnxruntime.networks import network_samples_us, network_timer
from benanza_runner.onnxruntime.session import CPU, Provider, empty_calls
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Outcome, Runtime
from benanza_runner.variants import timed_variant
from benanza_schemas.events import Ceiling, System, Variant, identified
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import CacheState, StoppedBy

METHOD = "copies of the layer in one call, warm, the least of a few calls; 5"
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


class OnnxRuntime(Runtime):
    """ONNX Runtime on one device.

    `threads` is how many an operator may use; by default as many as there are physical cores for
    this process. A layer of one operator is run as it stands. A group is run as the one node that
    ONNX Runtime fuses it to; a group that it doesn't fuse is a failed variant. Either way, many
    copies of the node go into one call, which is timed. On a CPU, what ONNX Runtime makes of it
    where feature maps are in blocks of channels is a variant of its own. A network is run operator
    by operator, on CPUs only. `load` reads how busy the machine is.
    """

    def __init__(
        self,
        device: Literal["cpu", "cuda"] = "cpu",
        threads: int | None = None,
        load: Callable[[], Load] = machine_load,
    ) -> None:
        self._device = device
        self._threads = threads or available_cores()
        self._library = f"onnxruntime-{device}"
        self._load = load
        self._timer = CopiesTimer(self._provider("fp32"), self._threads, load)
        self._conversions = BlockConversions(self._timer)
        self._slowdown = SlowdownDetector(empty_calls(CPU, 1, SLOWDOWN_CALLS), SLOWDOWN_TOLERANCE)

    def _provider(self, precision: Precision) -> Provider:
        if self._device == "cpu":
            return CPU
        # The provider multiplies float32 in TF32 unless told not to.
        options = {"use_tf32": "1" if precision == "tf32" else "0"}
        return Provider("CUDAExecutionProvider", "cuda", options)

    def system(self) -> System:
        """The CPU, or the GPU with its libraries, and the version of ONNX Runtime."""
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
                libraries={"onnxruntime": ort.__version__},
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
            return Outcome(failure=short_reason(f"ONNX Runtime: {short_reason(str(error))}"))

    def _measure(self, layer: Layer, model: LayerModel, precision: Precision) -> Outcome:
        environment = _environment()
        load = self._load()
        started = time.perf_counter()
        provider = self._provider(precision)
        forms = forms_of(layer, model, provider, precision)
        failed = [self._failed(layer, form) for form in forms if _not_as_asked(layer, form)]
        forms = [form for form in forms if not _not_as_asked(layer, form)]
        if not forms:
            return Outcome(variants=tuple(failed), environment=environment)
        while True:
            try:
                changes = [self._conversions.around(form) for form in forms]
                times = self._timed(forms, provider)
                break
            except Exception as error:
                if len(forms) == 1:
                    raise
                reason = short_reason(f"ONNX Runtime: {short_reason(str(error))}")
                failed.append(self._failed(layer, forms.pop()._replace(refusal=reason)))
        variants = [*map(self._variant, forms, times, changes)]
        environment["seconds"] = f"{time.perf_counter() - started:.3f}"
        environment["copies"] = str(times[-1].copies)
        environment["disturbed_samples"] = str(sum(timed.dropped for timed in times))
        environment |= self._busy_since(load, variants)
        self._conversions.settle(stable=not doubts_in(environment))
        return Outcome(variants=(*variants, *failed), environment=environment)

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
        return Variant(
            library=self._library,
            algorithm=layer.title(),
            layout=form.layout,
            failure=_not_as_asked(layer, form),
        )

    def _variant(self, form: LayerForm, timed: TimedCopies, changes: Changes) -> Variant:
        algorithm = "+".join(form.op_types())
        variant = timed_variant(
            self._library, algorithm, timed.samples_us, timed.stopped_by, layout=form.layout
        )
        return msgspec.structs.replace(
            variant,
            layout_change_us=changes.layout_change_us,
            write_change_us=changes.write_change_us,
        )

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
        """The highest rates that the microbenchmarks reach."""
        return measured_ceilings(self, precision)


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
