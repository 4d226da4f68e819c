"""No kernel of a GPU took less time than its layer's roofline: of all that an H200 recorded.

But for those that need fewer operations than the layer's definition has, as Winograd's do, which
docs/method.md names.
"""

import lzma
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgpack
import msgspec
import numpy as np
import pytest
from benanza_analyzer.roofline import PlatformCeilings, SystemCeilings, roofline_us

from benanza_analyzer.models.catalogue import Catalogue
from benanza_ingest.extract import extract
from benanza_schemas.codec import decode
from benanza_schemas.events import SystemMeasured
from benanza_schemas.layer import Precision
from tests.ingest.real_models import LIGHT, content

pytestmark = pytest.mark.slow

RECORDING = Path(__file__).parents[2] / "recordings" / "nvidia-h200.xz"
BATCHES = (1, 32)

FEWER_OPERATIONS = ("WINOGRAD", "FFT", "MULTIPLY=")
"""How such kernels are called. cuDNN doesn't say what its engines 3 and 12 do, the only ones with a
knob of that name: they take as little as 0.55 of the time of the multiplications, as FFT does."""

OF_CEILINGS = 1.04
"""What a layer may be faster than the microbenchmarks by which the ceiling of arithmetic was
measured: two of TF32 are, by up to 3.6%, at other clocks."""


class _Variant(msgspec.Struct):
    """What counts here of a variant in an encoded event: the rest isn't decoded."""

    algorithm: str
    median_us: float | None = None


class _Measured(msgspec.Struct):
    type: str
    fingerprint: str = ""
    precision: Precision = "fp32"
    variants: list[_Variant] = []


class Timed(NamedTuple):
    """A way of running a layer, with the time by bytes and by operations, and that measured."""

    title: str
    precision: str
    algorithm: str
    by_bytes_us: float
    by_operations_us: float
    us: float

    def needs_fewer_operations(self) -> bool:
        return any(name in self.algorithm for name in FEWER_OPERATIONS)


def recorded() -> tuple[SystemCeilings, list[_Measured]]:
    ceilings = SystemCeilings()
    measured: list[_Measured] = []
    decoder = msgspec.msgpack.Decoder(_Measured)
    with lzma.open(RECORDING) as file:
        unpacker = msgpack.Unpacker(file)
        next(unpacker)  # how many there are
        for encoded in unpacker:
            event = decoder.decode(encoded)
            measured.append(event)
            if event.type == "SystemMeasured":
                system = decode(encoded)
                assert isinstance(system, SystemMeasured)
                ceilings.add(system)
    return ceilings, measured


def works() -> Iterator[tuple[str, str, int, int]]:
    """Fingerprint, title, operations and bytes of all layers and groups."""
    for name in LIGHT:
        for batch in BATCHES:
            model = extract(content(name), batch=batch)
            for layer in model.layers:
                if layer.layer is not None:
                    yield layer.fingerprint, layer.layer.title(), layer.flops, layer.bytes
            for group in model.groups:
                yield group.fingerprint, group.layer.title(), group.flops, group.bytes


@cache
def timed() -> list[Timed]:
    """Each variant with a time, of the layers that today's models have."""
    system, events = recorded()
    catalogue = Catalogue()
    titles: dict[str, str] = {}
    for fingerprint, title, flops, bytes_moved in works():
        catalogue.describe(catalogue.number(fingerprint), flops=flops, bytes_moved=bytes_moved)
        titles[fingerprint] = title
    found: list[Timed] = []
    for event in events:
        ceilings = system.of(event.precision)
        if event.fingerprint not in titles or ceilings is None:
            continue
        title = titles[event.fingerprint]
        number = np.array([catalogue.number(event.fingerprint)], np.int32)
        rates = (
            PlatformCeilings(ceilings.bandwidth, np.inf),
            PlatformCeilings(np.inf, ceilings.flops),
        )
        moving, computing = (
            roofline_us(number, catalogue, each, event.precision) for each in rates
        )
        found += [
            Timed(title, event.precision, variant.algorithm, moving, computing, variant.median_us)
            for variant in event.variants
            if variant.median_us is not None
        ]
    return found


def test_most_of_the_recording_is_compared() -> None:
    assert len(timed()) > 100_000


def test_no_kernel_moves_its_bytes_faster_than_the_cache() -> None:
    assert [each for each in timed() if each.by_bytes_us > each.us] == []


def test_no_kernel_computes_faster_than_the_multipliers() -> None:
    above = [each for each in timed() if each.by_operations_us > each.us]
    direct = [each for each in above if not each.needs_fewer_operations()]
    assert [each for each in direct if each.by_operations_us > OF_CEILINGS * each.us] == []
    assert {each.precision for each in direct} <= {"tf32"}
    assert {each.precision for each in above} == {"fp32", "tf32"}
