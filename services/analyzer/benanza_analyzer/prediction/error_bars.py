"""How far off predicted bounds are: learned by leaving measured systems out.

Of an H200, an H100 and a V100, each was predicted from each other one, and its bounds were compared
with those that were measured there. A bar holds nine of ten of them. docs/results/predicted.md has
the errors; `python -m benchmarks.predicted` finds them again.
"""

from typing import NamedTuple

from benanza_analyzer.prediction.gpu import GpuSpecification


class ErrorBar(NamedTuple):
    """A bound is taken to lie between the predicted one divided by `factor` and `factor` times it.
    `learned` says from what that was learned.
    """

    factor: float
    learned: str


SAME_CAPABILITY = ErrorBar(
    1.08,
    "an H100 predicted from an H200 and the other way round, at batch 1 in fp16 and fp32",
)
OTHER_CAPABILITY = ErrorBar(
    1.9,
    "a V100 predicted from an H200 and an H100 and the other way round, in fp32, of layers and "
    "groups that were measured on both, with the shortest call of the target (`launch`): without "
    "it two of three lay there; how well Tensor Cores of one kind predict those of another isn't "
    "known",
)


def error_bar(sheet: GpuSpecification | None, target: GpuSpecification) -> ErrorBar:
    """That of a target, predicted from a GPU with this data sheet, if it is known."""
    same = sheet is not None and sheet.compute_capability == target.compute_capability
    return SAME_CAPABILITY if same else OTHER_CAPABILITY
