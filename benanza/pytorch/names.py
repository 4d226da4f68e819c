"""Names of models, such as `timm:vit_tiny_patch16_224`. torchvision's need no `torchvision:`."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from benanza.pytorch.configured import CONFIGURED

PLAIN = "torchvision"
PACKAGES = (PLAIN, "timm", "transformers", "diffusers")

TORCHVISION = """
    resnet50 vgg19 squeezenet1_0 densenet121 googlenet mobilenet_v2 shufflenet_v2_x1_0 swin_t
""".split()

TIMM = """
    vit_tiny_patch16_224 vit_small_patch16_224 vit_base_patch16_224 deit3_small_patch16_224
    eva02_tiny_patch14_224 xcit_tiny_12_p16_224 cait_xxs24_224 crossvit_tiny_240
    swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 nest_tiny pvt_v2_b1 twins_svt_small
    mvitv2_tiny davit_tiny focalnet_tiny_srf maxvit_nano_rw_256 coatnet_0_rw_224 levit_192
    efficientformer_l1 mobilevit_s mobilevitv2_100 fastvit_t8 tiny_vit_5m_224 edgenext_small
    poolformer_s12 mixer_s16_224 resmlp_12_224 gmlp_s16_224 convnext_tiny convnextv2_nano
    inception_next_tiny regnety_008 efficientnet_b0 mobilenetv3_large_100 mobilenetv4_conv_small
    mobilenetv4_hybrid_medium repvgg_a0 hrnet_w18_small
""".split()

SETS: dict[str, tuple[str, ...]] = {
    "transformers": tuple(name for name in CONFIGURED if name.startswith("transformers:")),
    "diffusers": tuple(name for name in CONFIGURED if name.startswith("diffusers:")),
    "timm": tuple(f"timm:{name}" for name in TIMM),
    PLAIN: tuple(TORCHVISION),
}
"""What a package's name stands for; `all` stands for all of them."""

ALL = tuple(chain.from_iterable(SETS.values()))


class Name(NamedTuple):
    """Where a model comes from, and its name there."""

    package: str
    model: str


def parsed(name: str) -> Name:
    """The parts of a name."""
    package, colon, model = name.partition(":")
    return Name(package, model) if colon else Name(PLAIN, name)


def resolved(text: str, part: str = "1/1") -> list[str]:
    """The names that a comma-separated text of names and sets stands for, each once.

    Of these it is a part: `2/3` is the second, the fifth, and so on. Raises `ValueError` for what
    names nothing.
    """
    names = dict.fromkeys(chain.from_iterable(_meant(entry) for entry in text.split(",")))
    which, parts = _part(part)
    return list(names)[which - 1 :: parts]


def _meant(text: str) -> Sequence[str]:
    if text == "all":
        return ALL
    if text in SETS:
        return SETS[text]
    package, model = parsed(text)
    if package not in PACKAGES:
        raise ValueError(f"{text!r}: there is no package {package!r}, but {', '.join(PACKAGES)}")
    if package == PLAIN:
        return [model]
    if package != "timm" and text not in CONFIGURED:
        known = ", ".join(SETS[package])
        raise ValueError(f"{text!r} has no configuration here; these have: {known}")
    return [text]


def _part(text: str) -> tuple[int, int]:
    which, slash, parts = text.partition("/")
    if not (slash and which.isdecimal() and parts.isdecimal() and 1 <= int(which) <= int(parts)):
        raise ValueError(f"{text!r} is no part, such as 1/2")
    return int(which), int(parts)
