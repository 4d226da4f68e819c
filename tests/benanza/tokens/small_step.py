"""The step of a small decoder, of one layer, with bounds on this CPU over a sweep."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from onnx import TensorProto

from benanza.request import RunRequest
from benanza.results.bounds import LowerBounds
from benanza.running.pipeline import run
from benanza_backbone.settings import Settings
from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.decoders.decoder import Decoder
from tests.benanza.data_folder import settings_in
from tests.shared import copied


def small_decoder() -> Decoder:
    """A Llama with narrow layers and few words."""
    llama = next(each for each in DECODERS if each.name.startswith("llama-3.2-1b"))
    return replace(
        llama,
        layers=1,
        hidden=256,
        heads=4,
        kv_heads=2,
        intermediate=512,
        vocabulary=2048,
        bits=32,
        precision=TensorProto.FLOAT,
    )


def swept_step(
    known: Path, folder: Path, batches: Sequence[int], pasts: Sequence[int]
) -> tuple[Settings, LowerBounds]:
    """The settings of a data folder in which `step` has bounds at all these sizes, and those. It is
    a copy of `known`, a data folder which has this system's ceilings: to measure them takes longer.
    """
    (folder / "step.onnx").write_bytes(build(small_decoder()).SerializeToString())
    settings = settings_in(copied(known, folder / "data"))
    request = RunRequest(
        (str(folder / "step.onnx"),),
        dims={"sequence_length": 1},
        sweep={"batch_size": batches, "past_sequence_length": pasts},
        derived={"total_sequence_length": "past_sequence_length+1"},
        runtime="onnxruntime",
    )
    return settings, run(request, settings)
