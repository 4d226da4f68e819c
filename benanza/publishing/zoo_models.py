"""`benanza zoo`: the models that need no download."""

import hashlib
from importlib.metadata import version

import onnx
from msgspec.structs import asdict

from benanza.results.publish import Zoo, ZooModel
from benanza_ingest.decoders.forms import decoder_model, decoder_names
from benanza_ingest.reading.zoo import PREFIX, exported_models, zoo_names, zoo_path


def zoo(*, exported: bool) -> Zoo:
    """The nine models inside the onnx package and, if asked for, those exported from PyTorch's."""
    models = [_light(name) for name in zoo_names()]
    if exported:
        models += [
            ZooModel(model=PREFIX + name, **asdict(model))
            for name, model in exported_models().items()
        ]
    return Zoo(models=tuple(models))


def whole_zoo() -> Zoo:
    """The models that `zoo` has, and the decoders, which Benanza makes."""
    return Zoo(models=(*zoo(exported=True).models, *map(_decoder, decoder_names())))


def _decoder(name: str) -> ZooModel:
    return _described(name, decoder_model(name), "text generation", f"benanza {version('benanza')}")


def _light(name: str) -> ZooModel:
    content = zoo_path(name).read_bytes()
    return _described(name, content, "image classification", f"onnx {version('onnx')}")


def _described(name: str, content: bytes, task: str, source: str) -> ZooModel:
    return ZooModel(
        model=PREFIX + name,
        task=task,
        source=source,
        licence="Apache-2.0",
        sha256=hashlib.sha256(content).hexdigest(),
        nodes=len(onnx.ModelProto.FromString(content).graph.node),
    )
