"""How long a run would take if a compiler joined its calls."""

from benanza.results.profile import ModelProfile, ProfiledPart


def compiled_us(profile: ModelProfile, *, between_calls: bool) -> float:
    """What is left of a run whose calls are known, in microseconds, once a compiler joined them.

    It leaves products to libraries, and makes one kernel of what stands between two of them, as
    TorchInductor does (https://docs.pytorch.org/docs/stable/torch.compiler.html). So a part without
    products takes no longer than the bound does there. In a part with products, they take what they
    take now, and all other calls together as long as the fastest of them. If time passes
    `between_calls` afterwards, it is less in the ratio of their numbers.
    """
    # The call that a synchronisation comes after is in another part as well.
    parts = (part for part in profile.parts if part.calls and part.kind != "synchronisation")
    left = [_left(profile, part) for part in parts]
    us, calls = (sum(column) for column in zip(*left, strict=True)) if left else (0.0, 0)
    if between_calls:
        timed = sum(max(1, len(call.kernels)) for call in profile.calls if call.us)
        us += profile.between_calls_us * min(1.0, calls / max(1, timed))
    return us


def _left(profile: ModelProfile, part: ProfiledPart) -> tuple[float, int]:
    """How long a part takes then, and in how many calls."""
    calls = [profile.calls[number] for number in part.calls if profile.calls[number].us]
    products = [call.us * profile.in_run for call in calls if call.multiplies]
    others = [call.us * profile.in_run for call in calls if not call.multiplies]
    if not products:
        return min(part.us * profile.in_run, part.bound_us), part.bound_calls
    joined = min(others, default=0.0)
    return sum(products) + joined, len(products) + bool(others)
