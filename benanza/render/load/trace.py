"""What a trace of an evaluation has, in lines for people."""

from collections.abc import Iterator

from benanza.render.units import plural, time_unit
from benanza.spans.looking import REQUESTS
from benanza.spans.trace import Trace


def trace_lines(trace: Trace) -> Iterator[str]:
    """How many spans there are, and for each level what looking at it cost, or why it wasn't."""
    yield f"the trace {trace.trace_id} has {plural(len(trace.spans), 'span')}"
    for span in trace.spans:
        said = span.attributes
        looking = said.get("benanza.looking_us")
        if isinstance(looking, tuple):
            unobserved = float(str(said["benanza.request_unobserved_us"]))
            unit = time_unit([unobserved])
            low, middle, high = map(unit.format, looking)
            yield (
                f"{span.name}: a request takes {unit.format(unobserved)} {unit.name}; looking adds "
                f"{middle} (half of {REQUESTS} times {low} to {high})"
            )
        elif "benanza.failure" in said and span.parent:
            yield f"not {span.name}: {said['benanza.failure']}"
