"""What choosing layouts of feature maps is worth in a bound."""

from collections.abc import Sequence
from typing import NamedTuple

from benanza.results.what_if import WhatIf
from benanza_analyzer.answers.policies import CHANNELS_FIRST, CHANNELS_LAST

LEAST_SHARE = 0.01
"""Two measurements of one model may differ by as much."""


class LayoutChoice(NamedTuple):
    """A choice of layouts by its name, and the bound `without` it, which takes longer."""

    name: str
    without: WhatIf


def layout_choice(what_ifs: Sequence[WhatIf]) -> LayoutChoice | None:
    """The choice of layouts that matters. Where either layout for all layers costs something, that
    is to choose for each layer, beside the cheaper of the two. None where no choice matters, or
    what one of them costs isn't known.
    """
    policies = {CHANNELS_FIRST.name: "channels last", CHANNELS_LAST.name: "channels first"}
    forced = [what_if for what_if in what_ifs if what_if.name in policies]
    if any(what_if.more_us is None for what_if in forced):
        return None
    costly = [what_if for what_if in forced if _share(what_if) >= LEAST_SHARE]
    if not costly:
        return None
    without = min(costly, key=lambda what_if: what_if.sequential_us)
    one = len(costly) == 1
    return LayoutChoice(policies[without.name] if one else "the layout for each layer", without)


def _share(what_if: WhatIf) -> float:
    return (what_if.more_us or 0.0) / what_if.sequential_us if what_if.sequential_us else 0.0
