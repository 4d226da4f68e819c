"""`benanza zoo`: the models that need no download."""

import hashlib
from importlib.metadata import version

import onnx
from msgspec.structs import asdict

from benanza.results.publish import Zoo, ZooModel
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


def _light(name: str) -> ZooModel:
    content = zoo_path(name).read_bytes()
    return ZooModel(
        model=PREFIX + name,
        task="image classification",
        source=f"onnx {version('onnx')}",
        licence="Apache-2.0",
        sha256=hashlib.sha256(content).hexdigest(),
        nodes=len(onnx.ModelProto.FromString(content).graph.node),
    )
