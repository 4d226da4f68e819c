"""The port to libraries that run layers on a CPU, beside ONNX Runtime.

A layout is a name of the schemas, and says how a candidate has the feature maps that it reads and
writes (`Borders`). There are four:

- `NCHW`: as ONNX has them.
- `NCHWc`: in blocks of `block_size()` channels (`onnxruntime/blocked.py`), the channels of a block
  last and the last block padded: of 16 channels on processors with AVX-512, where oneDNN says
  `nChw16c`, of 8 with AVX2, where it says `nChw8c`. Libraries that name the same layout read what
  each other wrote.
- `NHWC`: with channels last.
- empty: any, such as where an element is computed from that at the same place, and no block is
  padded.

Conversions are timed apart, with ONNX Runtime, from what `Borders` says; a candidate's
own calls take feature maps as `Borders` says, and what it converts within counts as its own time.

`tests/runner/cpu_libraries/cpu_library_contract.py` is the suite that every adapter passes.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from benanza_runner.arrays import Array
from benanza_runner.measuring.sampling import Timing
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_runner.onnxruntime.blocked import Shape
from benanza_schemas.events import Variant
from benanza_schemas.layer import Layer, Precision


class Borders(NamedTuple):
    """How feature maps lie in memory at the borders of a layer.

    `reads` and `writes` are the shapes, in NCHW, of those that have to be converted where the
    neighbours have another layout.
    """

    layout: str = ""
    reads: tuple[Shape, ...] = ()
    writes: tuple[Shape, ...] = ()


class CpuWork(NamedTuple):
    """A layer to be run: its types are those of the precision.

    `model` is the layer as it stands, with its inputs and weights, as ONNX has them: those of which
    the reference was computed. Its results are called as the model's outputs are. `as_onnx` are the
    borders of whatever runs the layer with feature maps as ONNX has them. A candidate may use so
    many `threads`.
    """

    layer: Layer
    model: LayerModel
    precision: Precision
    threads: int
    as_onnx: Borders


class Calls(Protocol):
    """A candidate that is ready to be called, with its weights packed and its inputs in place."""

    def call(self) -> Timing:
        """Runs the layer as often as `open` was told, to the end, and says how long that took."""
        ...

    def results(self) -> Mapping[str, Array]:
        """What the last call wrote, by the names of the model's outputs, in their types and shapes:
        as ONNX has them, whatever the layout.
        """
        ...


class CpuCandidate(NamedTuple):
    """A way of running a layer; `library`, `algorithm` and the layout of `borders` name it.

    `open` makes it ready to run the layer so many times in one call, one after the other, each with
    the same inputs and weights, or copies of them. There are at most `most_copies` of it. It raises
    an exception where the library can't run the layer. Nothing of it runs once it is closed.
    """

    library: str
    algorithm: str
    borders: Borders
    open: Callable[[int], AbstractContextManager[Calls]]
    most_copies: int


class CpuLibrary(Protocol):
    """Offers candidates for the layers that it knows.

    `library` is the name that its candidates bear, and `version` that of what is loaded: both are
    part of the system.
    """

    library: str
    version: str

    def candidates(self, work: CpuWork) -> Iterator[CpuCandidate | Variant]:
        """The ways of running a layer, the most promising first.

        There are none for a layer that the library doesn't know. A way that is known to fail comes
        as a `Variant` with its reason. Asked again for the same layer, a library offers the same
        names again.
        """
        ...

    def empty_call_us(self, threads: int) -> float:
        """How long a call takes that has nothing to do, in microseconds: it is subtracted."""
        ...
