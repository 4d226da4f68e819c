"""Which of the measured variants a bound may take: what-ifs are bounds under other policies."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from benanza_analyzer.measurements import FIRST, WHICHEVER, layout_of
from benanza_schemas.events import LayerMeasured, Variant
from benanza_schemas.times import has_warm_time
from benanza_schemas.vocabulary import OF_NO_LIBRARY

NOT_TAKEN = "no variant that was timed here is one of those"
"""Why a layer has no time under a policy that takes none of its variants."""


class Policy(NamedTuple):
    """A bound with groups or without, of the variants that `takes` takes. `name` is for people.

    A layer that has a time for none of these takes any, if `otherwise_any`; else it has none.
    With `copies_states`, states are copied as the model has it, and not kept in place.
    """

    name: str
    fusion: bool
    takes: Callable[[Variant], bool]
    otherwise_any: bool = False
    copies_states: bool = False

    def of(self, event: LayerMeasured) -> LayerMeasured:
        """The measurement with the variants that are taken; a failure if there are none."""
        variants = tuple(filter(self.takes, event.variants))
        lacks = self.otherwise_any and not any(map(has_warm_time, variants))
        if len(variants) == len(event.variants) or lacks:
            return event
        failure = "" if variants else NOT_TAKEN
        return msgspec.structs.replace(event, variants=variants, failure=failure)


def _any(variant: Variant) -> bool:
    return True


def _of_a_library(variant: Variant) -> bool:
    return variant.library not in OF_NO_LIBRARY


def _channels_first(variant: Variant) -> bool:
    return layout_of(variant) in (WHICHEVER, FIRST)


def _channels_last(variant: Variant) -> bool:
    return layout_of(variant) != FIRST


def _chosen(variant: Variant) -> bool:
    return variant.chosen_by_heuristic


FASTEST = Policy("the fastest variants", True, _any)
UNFUSED = Policy("without fusion", False, _any)
HEURISTIC = Policy("without fusion, as heuristics choose", False, _chosen, otherwise_any=True)
"""Where a library's heuristic was asked, its choice; elsewhere the fastest variant."""

LIBRARIES = Policy("calls of libraries alone", True, _of_a_library)
LIBRARIES_UNFUSED = Policy("libraries alone, without fusion", False, _of_a_library)
CHANNELS_FIRST = Policy("channels first wherever possible", True, _channels_first, True)
CHANNELS_LAST = Policy("channels last wherever possible", True, _channels_last, True)
STATES_COPIED = Policy("states copied, not in place", True, _any, copies_states=True)

POLICIES = (
    FASTEST,
    UNFUSED,
    HEURISTIC,
    LIBRARIES,
    LIBRARIES_UNFUSED,
    CHANNELS_FIRST,
    CHANNELS_LAST,
    STATES_COPIED,
)
"""The fastest comes first: the others are compared with it."""
