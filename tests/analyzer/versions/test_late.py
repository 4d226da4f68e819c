"""An analyzer that was taken for dead goes on, and what another one found meanwhile counts."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest

from benanza_analyzer.versions.late import overtaken
from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import BoundUpdated, event_id
from benanza_schemas.topics import BOUNDS
from tests.backbone.sample_events import bound
from tests.steps import NOW

HOUR_S = 3_600


def version(cause: str, at_s: float, measured: int = 1) -> BoundUpdated:
    made = bound(cause=event_id(cause), at=1, sequential_us=1.0)
    return msgspec.structs.replace(
        made,
        event_id=event_id("BoundUpdated", cause),
        computed_at=NOW + timedelta(seconds=at_s),
        measured=tuple(range(measured)),
    )


def records(*versions: BoundUpdated) -> Sequence[Record]:
    return [
        Record(Partition(BOUNDS, 0), at, NOW, message.key, message.value)
        for at, message in enumerate(map(as_message, versions))
    ]


BEFORE = version("before", 0)
AGAIN, FURTHER = version("last", 1), version("next", 2)
LATE = version("last", HOUR_S)
"""From a clock that is ahead; `AGAIN` is what the other analyzer made of the same event."""


@pytest.mark.parametrize(
    "written",
    [
        (BEFORE, AGAIN, FURTHER, LATE),
        (BEFORE, LATE, AGAIN, FURTHER),
        (BEFORE, AGAIN, LATE, FURTHER),
    ],
)
def test_the_version_of_the_one_that_went_further_counts(written: Sequence[BoundUpdated]) -> None:
    (returned,) = overtaken([LATE], records(*written))
    assert returned.computed_at > max(each.computed_at for each in written)
    assert msgspec.structs.replace(returned, computed_at=FURTHER.computed_at) == FURTHER


@pytest.mark.parametrize(
    "written",
    [
        (BEFORE, LATE),  # Nobody took over.
        (BEFORE, AGAIN, LATE),  # The other one found the same.
        (version("other", 0), LATE),  # This one's own, from its turns before.
    ],
)
def test_own_versions_count_where_no_one_went_further(written: Sequence[BoundUpdated]) -> None:
    assert overtaken([LATE], records(*written)) == []


def test_of_the_same_event_the_version_with_more_measured_counts() -> None:
    more = version("last", 1, measured=2)
    (returned,) = overtaken([LATE], records(more, LATE))
    assert returned.measured == more.measured
    assert overtaken([more], records(more, LATE)) == []
