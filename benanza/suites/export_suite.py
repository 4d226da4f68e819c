"""Writes a suite: the networks of models, without names, weights or the order that they have
there, which runs wherever NumPy and ONNX Runtime are.
"""

import json
import random
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from benanza.errors import about
from benanza.suites.results import LeftOut, SuiteWritten
from benanza_backbone.errors import BenanzaError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import LayerSequence
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import LayerModel, LayerModelError, layer_model
from benanza_runner.onnx_layers.onnx_schemas import UnknownVersionError
from benanza_runner.onnxruntime.network_timer import FORMAT
from benanza_runner.onnxruntime.networks import network_nodes
from benanza_schemas.layer import Layer

README = """Networks of a few operators each, to be timed on a CPU. It needs NumPy and ONNX Runtime:

    python run.py SUITE RESULTS [THREADS]

SUITE is the whole archive, RESULTS the file to write. Weights are made up.
"""


def export_suite(
    file: Path,
    models: Sequence[str],
    granularity: int,
    batch: int | None,
    dims: Mapping[str, int],
    dummies: int,
    seed: int,
    limits: Limits,
) -> SuiteWritten:
    """Writes the networks of these models, each once, in random order, with so many `dummies` of
    the zoo among them that the models don't have.

    Raises `BenanzaError` if a model can't be had, if there are not so many dummies, or if the file
    can't be written.
    """
    wanted: dict[str, LayerSequence] = {}
    for model in models:
        with about(model):
            wanted |= _sequences(model, granularity, batch, dims, limits)
    chance = random.Random(seed)
    encoded, left_out = _encoded(wanted)
    others = _dummies(granularity, dummies, chance, wanted, limits) if dummies else {}
    networks = [*encoded.items(), *others.items()]
    chance.shuffle(networks)
    try:
        _write(file, networks)
    except OSError as error:
        raise BenanzaError(f"can't write {file} ({error.strerror}); name another file") from error
    return SuiteWritten(networks=len(encoded), dummies=len(others), left_out=tuple(left_out))


def _sequences(
    model: str, granularity: int, batch: int | None, dims: Mapping[str, int], limits: Limits
) -> dict[str, LayerSequence]:
    content = fetch(model, limits).content
    extracted = extract(content, batch=batch, dims=dims, limits=limits, granularity=granularity)
    return {sequence.fingerprint: sequence for sequence in extracted.sequences}


def _encoded(
    sequences: Mapping[str, LayerSequence],
) -> tuple[dict[str, LayerModel], list[LeftOut]]:
    models: dict[str, LayerModel] = {}
    left_out = []
    for fingerprint, sequence in sequences.items():
        try:
            models[fingerprint] = _portable(sequence.layer)
        except (LayerModelError, UnknownVersionError) as error:
            title = sequence.layer.title()
            left_out.append(LeftOut(fingerprint=fingerprint, title=title, reason=str(error)))
    return models, left_out


def _portable(layer: Layer) -> LayerModel:
    """Raises `LayerModelError` also for types that NumPy lacks."""
    model = layer_model(layer)
    for array in (*model.constants.values(), *model.inputs.values()):
        if array.dtype.isbuiltin != 1:
            raise LayerModelError(f"{layer.title()} reads {array.dtype}, which NumPy lacks")
    return model


def _dummies(
    granularity: int,
    count: int,
    chance: random.Random,
    wanted: dict[str, LayerSequence],
    limits: Limits,
) -> dict[str, LayerModel]:
    names = zoo_names()
    chance.shuffle(names)
    dummies: dict[str, LayerModel] = {}
    for sequences in _of_zoo(names, granularity, limits):
        others = {name: sequence for name, sequence in sequences.items() if name not in wanted}
        encoded, _ = _encoded(others)
        dummies |= encoded
        # More than enough, so that not all are of one model.
        if len(dummies) >= 2 * count:
            break
    if len(dummies) < count:
        raise BenanzaError(
            f"the zoo has no more than {len(dummies):,} other networks; ask for fewer dummies"
        )
    return {name: dummies[name] for name in chance.sample(sorted(dummies), count)}


def _of_zoo(
    names: Sequence[str], granularity: int, limits: Limits
) -> Iterator[dict[str, LayerSequence]]:
    for name in names:
        yield _sequences(f"{PREFIX}{name}", granularity, None, {}, limits)


def _write(file: Path, networks: Sequence[tuple[str, LayerModel]]) -> None:
    nodes = network_nodes()
    script = resources.files("benanza_runner.onnxruntime") / "network_timer.py"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        archive.writestr("run.py", script.read_text(encoding="utf-8"))
        archive.writestr("one.onnx", nodes.one)
        archive.writestr("more.onnx", nodes.more)
        described = {}
        for name, model in networks:
            archive.writestr(f"networks/{name}.onnx", model.proto.SerializeToString())
            described[name] = {
                "inputs": _described(model.inputs),
                "constants": _described(model.constants),
            }
        archive.writestr("suite.json", json.dumps({"format": FORMAT, "networks": described}))


def _described(arrays: Mapping[str, Array]) -> dict[str, dict[str, Any]]:
    """Floats by the numbers between which they were drawn: as many zeros and signs as there are
    don't matter. Others by their values, which must fit the operator.
    """
    descriptions = {}
    for name, array in arrays.items():
        described: dict[str, Any] = {"dtype": array.dtype.name, "shape": array.shape}
        if array.dtype.kind == "f":
            described |= {"low": float(array.min()), "high": float(array.max())}
        else:
            described["values"] = array.ravel().tolist()
        descriptions[name] = described
    return descriptions
