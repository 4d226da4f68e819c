"""What a report says first: how fast a model could run, what frameworks take, what choices are
worth.
"""

from collections.abc import Iterator, Sequence

from benanza.render.bounds import model_at
from benanza.render.units import plural, time_unit
from benanza.report.content import ReportedBound
from benanza.report.layouts import layout_choice
from benanza.results.advise import ModelAdvice
from benanza_analyzer.answers.policies import UNFUSED

MILLION = 1e6

UNKNOWN = "not known"

DECODERS = "decoder:"
"""The zoo's models of the collection that has four blocks of each."""

FRAMEWORKS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "pytorch": "PyTorch"}
"""What they call themselves."""


def answer(reported: ReportedBound) -> list[str]:
    """The answer in a few sentences; what isn't known is said to be so."""
    return [
        _bound(reported),
        *_blocks(reported),
        *_runs(reported),
        *_choices(reported),
        _speed_of_light(reported),
    ]


def framework(name: str) -> str:
    """What a framework calls itself, as far as that is known."""
    return FRAMEWORKS.get(name, name)


def run_title(run: ModelAdvice) -> str:
    """Which run it is."""
    profile = run.profile
    return f"{framework(profile.framework)} {profile.version}, {profile.configuration}"


def time_text(us: float | None) -> str:
    """A time of its own with its unit: `260 µs`, `1.14 ms`; `not known` where there is none."""
    if us is None:
        return UNKNOWN
    unit = time_unit([us])
    value = us / unit.microseconds
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit.name}"


def rate_text(batch: int, us: float | None, *, partial: bool = False) -> str:
    """Samples a second: `3,844 a second`, which is `at most` so many by a partial bound; `not
    known` without a time.
    """
    if not us:
        return UNKNOWN
    rate = batch * MILLION / us
    text = f"{rate:,.0f} a second" if rate >= 10 else f"{rate:,.2f} a second"
    return f"at most {text}" if partial else text


def cost_text(batch: int, us: float | None, price_per_hour: float, *, partial: bool = False) -> str:
    """What a million samples cost, which is `at least` so much by a partial bound."""
    if not us:
        return UNKNOWN
    cost = us / batch / 3600 * price_per_hour
    shown = f"{cost:,.2f}" if cost >= 1 else f"{cost:.3g}"
    text = f"{shown} for a million samples at {price_per_hour:g} an hour"
    return f"at least {text}" if partial else text


def overall(bounds: Sequence[ReportedBound]) -> str:
    """One sentence about many bounds."""
    known = [reported for reported in bounds if reported.known]
    if not known:
        return "None of these bounds is known: no layer was measured."
    models = len({reported.file for reported in known})
    systems = len({reported.bound.system_id for reported in known})
    what = f"{plural(len(known), 'bound')} of {plural(models, 'model')} on "
    what += f"{plural(systems, 'system')}."
    if more := len(bounds) - len(known):
        what += f" Of {more} more no layer was measured."
    ratios = [ratio for reported in bounds if (ratio := slower(reported)) is not None]
    if not ratios:
        return f"{what} No framework's run of them is known."
    runs = f"For {len(ratios)} of them runs by frameworks are known; the fastest take"
    low, high = min(ratios), max(ratios)
    if low == high:
        return f"{what} {runs} {low:.1f} times as long as the bound."
    return f"{what} {runs} {low:.1f} to {high:.1f} times as long as the bound."


def slower(reported: ReportedBound) -> float | None:
    """How many times as long as the bound the fastest run takes; none where the bound is partial
    or no run is known.
    """
    bound_us = reported.bound.sequential_us
    if reported.bound.partial or not bound_us or not reported.runs:
        return None
    us = reported.runs[0].profile.us
    return us / bound_us if us else None


def _bound(reported: ReportedBound) -> str:
    bound = reported.bound
    where = f"{bound.model} on {reported.device}, {bound.precision}, "
    where += model_at(bound).removeprefix(f"{bound.model}, ")
    if bound.sequential_us is None:
        return f"{where}: how fast it could run isn't known; none of its layers was measured."
    text = f"{where}: at least {time_text(bound.sequential_us)}"
    if missing := len(bound.coverage.missing):
        of = bound.coverage.measured + missing
        rate = rate_text(bound.batch, bound.sequential_us, partial=True)
        return f"{text} ({rate}) without {missing:,} of {of:,} layers, whose times aren't known."
    return f"{text} ({rate_text(bound.batch, bound.sequential_us)})."


def _blocks(reported: ReportedBound) -> Iterator[str]:
    if reported.bound.model.startswith(DECODERS):
        yield "This model of the zoo has four of the decoder's blocks, not all."


def _runs(reported: ReportedBound) -> Iterator[str]:
    if not reported.runs:
        yield "What a framework takes for it isn't known."
        return
    run = reported.runs[0]
    us, ratio = run.profile.us, slower(reported)
    name = framework(run.profile.framework)
    beside = "" if ratio is None else f", {ratio:.1f} times as long"
    yield f"{name} takes {time_text(us)}{beside} ({run.profile.configuration})."


def _choices(reported: ReportedBound) -> Iterator[str]:
    known: list[tuple[str, float]] = []
    for what_if in reported.what_ifs:
        if what_if.name == UNFUSED.name:
            if what_if.more_us is None:
                yield "What fusion is worth isn't known."
            elif what_if.more_us > 0:
                known.append(("fusion", what_if.more_us))
    if layout := layout_choice(reported.what_ifs):
        choosing = "choosing " if layout.name.startswith("the ") else ""
        known.append((f"{choosing}{layout.name}", layout.without.more_us or 0.0))
    if known:
        (one, us), *others = known
        also = "".join(f", {name} {time_text(us)}" for name, us in others)
        yield f"{one.capitalize()} is worth {time_text(us)}{also}."


def _speed_of_light(reported: ReportedBound) -> str:
    us = reported.bound.roofline_us
    if us is None:
        return "Its speed of light isn't known."
    return f"No kernels could take less than {time_text(us)}, the speed of light."
