"""Models with random weights and inputs, by name; `benanza.pytorch.names` has the names."""

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from benanza.pytorch.configured import CONFIGURED, Input
from benanza.pytorch.names import PLAIN, parsed

SIDE = 224
"""Of the images for torchvision's models; timm's say theirs."""

FOR_INFERENCE: dict[str, dict[str, Any]] = {
    "googlenet": {"aux_logits": False, "init_weights": True},
    "inception_v3": {"aux_logits": False, "init_weights": True},
}
"""Arguments without which torchvision's models have further heads for training."""


CALIBRATING = 8
"""So many inputs: of a single one, a normalisation of vectors can't take statistics."""


class Whole(torch.nn.Module):  # type: ignore[misc]  # types are checked without torch
    """A model whose inputs go by position, and whose result is its first tensor."""

    def __init__(self, model: torch.nn.Module, arguments: Sequence[str] = ()) -> None:
        super().__init__()
        self.model = model
        self.arguments = tuple(arguments)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        if self.arguments:
            named = dict(zip(self.arguments, inputs, strict=True))
            result = self.model(**named, return_dict=False)
        else:
            result = self.model(*inputs)
        if isinstance(result, dict):  # of a model for segmentation
            result = next(iter(result.values()))
        return result if isinstance(result, torch.Tensor) else result[0]


def case(name: str, batch: int) -> tuple[Whole, tuple[torch.Tensor, ...]]:
    """A model for inference and so many of its inputs, the same each time.

    Raises what the package does, such as `ImportError` if it isn't there.
    """
    torch.manual_seed(0)
    package, model = parsed(name)
    inputs: tuple[Input, ...]
    if package == PLAIN:
        whole, inputs = Whole(_torchvision(model)), (Input("x", (3, SIDE, SIDE)),)
    elif package == "timm":
        network = import_module("timm").create_model(model, pretrained=False)
        whole, inputs = Whole(network), (Input("x", tuple(network.pretrained_cfg["input_size"])),)
    else:
        inputs = CONFIGURED[name].inputs
        whole = Whole(_configured(name), [described.argument for described in inputs])
    whole.eval()
    _vary(whole)
    _calibrate(whole, inputs)
    return whole, _values(inputs, batch, seed=1)


def _torchvision(name: str) -> Any:
    models = import_module("torchvision").models
    arguments = dict(FOR_INFERENCE.get(name, {}))
    if "weights_backbone" in inspect.signature(models.get_model_builder(name)).parameters:
        arguments["weights_backbone"] = None  # They would be downloaded.
    return models.get_model(name, weights=None, **arguments)


def _configured(name: str) -> Any:
    package = import_module(parsed(name).package)
    model, configuration, _, sizes = CONFIGURED[name]
    if not configuration:
        return getattr(package, model)(**sizes)
    settings = getattr(package, configuration)(**sizes)
    if hasattr(settings, "use_cache"):
        settings.use_cache = False
    return getattr(package, model)(settings)


def _vary(model: torch.nn.Module) -> None:
    """Gives random values to parameters that are the same everywhere.

    A fresh norm changes nothing, so a compiler might drop it; with a fresh scale of 1e-6, a wrong
    branch would go unnoticed.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.numel() < 2 or parameter.min() != parameter.max():
                continue
            if parameter.max() == 0:
                parameter.normal_(std=0.1 if parameter.ndim == 1 else 0.02)
            else:
                parameter.uniform_(0.9, 1.1)


def _calibrate(model: torch.nn.Module, inputs: Sequence[Input]) -> None:
    """Gives batch normalisations the statistics of a few inputs.

    With those of a fresh one, values grow from layer to layer until half precision overflows.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    with torch.no_grad():
        model(*_values(inputs, CALIBRATING, seed=2))
    model.eval()


def _values(inputs: Sequence[Input], batch: int, seed: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randint(described.below, (batch, *described.shape), generator=generator)
        if described.below
        else torch.randn((batch, *described.shape), generator=generator)
        for described in inputs
    )
