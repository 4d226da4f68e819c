"""What the study found, in the five lines that its page begins with."""

from collections.abc import Iterable, Sequence
from statistics import geometric_mean

from benanza.results.questions import ModelAnswers
from study.bound_tables import known_speed_ups
from study.population import Composition, uniqueness

REMEDIES = "fusion", "algorithms", "parallel", "joint"


def findings(
    models: Sequence[Composition],
    fp16: Iterable[ModelAnswers],
    tf32: Iterable[ModelAnswers],
    large: Iterable[ModelAnswers],
    large_batch: int,
) -> list[str]:
    """The lines. Of each remedy, of PyTorch and of speeds of light at least one model must be known
    at both precisions and both batch sizes.
    """
    layers = uniqueness(models)
    speed_ups = [known_speed_ups(answers) for answers in (fp16, tf32, large)]
    worth, other, many = ([_mean(by_title[title]) for title in REMEDIES] for by_title in speed_ups)
    pytorch = [by_title["PyTorch / bound"] for by_title in speed_ups]
    least = [f"{values[0]:.2f}" for values in pytorch]
    means = _listed(map(_mean, pytorch))
    near, near_many = (
        f"{geometric_mean(speed_ups[index]['bound / light']):.1f}" for index in (0, 2)
    )
    return [
        f"- Of {layers.layers:,} layers in {len(models)} models, {layers.unique:,} are unique, "
        f"{layers.share:.1%}: only these are measured.",
        f"- In fp16 at batch 1, fusion is worth {worth[0]} times, the fastest algorithms "
        f"{worth[1]}, parallel layers {worth[2]} and all three {worth[3]}, as geometric means.",
        f"- The same four are {_listed(other)} in TF32 at batch 1, and {_listed(many)} in fp16 at "
        f"batch {large_batch}.",
        f"- PyTorch takes at least {least[0]} times as long as the bound in fp16 at batch 1, "
        f"{least[1]} in TF32, and {least[2]} in fp16 at batch {large_batch}; the means over "
        f"{_listed(str(len(values)) for values in pytorch)} models are {means}.",
        f"- Bounds in fp16 are {near} times their speeds of light at batch 1, and {near_many} "
        f"times at batch {large_batch}.",
    ]


def _mean(values: Iterable[float]) -> str:
    return f"{geometric_mean(values):.2f}"


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}"
