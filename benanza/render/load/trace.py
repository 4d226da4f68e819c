"""What a trace of an evaluation has, in lines for people."""

from collections.abc import Iterator

from benanza.render.units import plural, time_unit
from benanza.spans.looking import REQUESTS
from benanza.spans.trace import SpanTrace


def trace_lines(trace: SpanTrace) -> Iterator[str]:
    """How many spans there are, and for each level what looking at it cost, or why it wasn't."""
    yield f"the trace {trace.trace_id} has {plural(len(trace.spans), 'span')}"
    for span in trace.spans:
        said = span.attributes
        looking = said.get("benanza.looking_us")
        if isinstance(looking, tuple):
            unobserved = float(str(said["benanza.call_unobserved_us"]))
            unit = time_unit([unobserved])
            low, middle, high = map(unit.format, looking)
            yield (
                f"{span.name}: a call takes {unit.format(unobserved)} {unit.name}; profiling adds "
                f"{middle} {unit.name} (quartiles {low} and {high}, of {REQUESTS})"
            )
        elif span.failure and span.parent:
            yield f"not {span.name}: {span.failure}"


def service_line(trace: SpanTrace) -> str:
    """What a trace of the services, or of an evaluation by agents, has."""
    root = trace.spans[0]
    said = f"the trace {trace.trace_id} has {plural(len(trace.spans), 'span')}: {root.name}"
    bound_us = root.attributes.get("benanza.publish_to_bound_us")
    if isinstance(bound_us, float):
        said += f", the first full bound after {bound_us / 1e6:.1f} s"
    return said
