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
    """The lines. Of each remedy, of PyTorch and of rooflines at least one model must be known at
    both precisions and both batch sizes.
    """
    layers = uniqueness(models)
    small, other, many = (known_speed_ups(each) for each in (fp16, tf32, large))
    worth, worth_other, worth_many = (
        [f"{geometric_mean(found[title]):.2f}" for title in REMEDIES]
        for found in (small, other, many)
    )
    times, times_other, times_many = (
        f"{found[0]:.2f} times and more ({geometric_mean(found):.2f} in the mean of {len(found)})"
        for found in (each["PyTorch / bound"] for each in (small, other, many))
    )
    near, near_many = (geometric_mean(each["bound / roofline"]) for each in (small, many))
    return [
        f"- Of {layers.layers:,} layers in {len(models)} models, {layers.unique:,} are unique, "
        f"{layers.share:.1%}: only these are measured.",
        f"- In fp16 at batch 1, fusion is worth {worth[0]} times, the fastest algorithms "
        f"{worth[1]}, parallel layers {worth[2]}, all three {worth[3]}, as geometric means.",
        f"- In TF32 these are {', '.join(worth_other)}; in fp16 at batch {large_batch} "
        f"{', '.join(worth_many)}.",
        f"- Beside the bound PyTorch takes, in fp16 at batch 1, {times}; in TF32 {times_other}; "
        f"in fp16 at batch {large_batch} {times_many}.",
        f"- Bounds in fp16 are {near:.1f} times their rooflines at batch 1, and {near_many:.1f} "
        f"times at batch {large_batch}.",
    ]
