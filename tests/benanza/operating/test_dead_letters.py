"""Whatever happens to dead letters, the last event about each says whether it is open."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.installation.embedded import opened_log
from benanza.operating.dead_letters import Action, list_dead_letters, settle_dead_letters
from benanza_backbone.event_log.event_log import Partition, Record, Unread
from benanza_backbone.service.dead_letter import MAX_KEPT_BYTES, dead_letter
from benanza_backbone.service.processor import _decoded, as_message
from benanza_backbone.settings import Settings, load
from benanza_schemas.codec import DecodeError
from benanza_schemas.limits import LAST_TIME
from benanza_schemas.topics import DEAD_LETTERS, MODELS
from tests.examples import examples

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

records = st.integers(0, 3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("fails"), records),
        st.tuples(st.sampled_from(["replayed", "dropped"]), records),
    ),
    max_size=12,
)


def fail(configured: Settings, number: int, at: datetime, topic: str = MODELS) -> str:
    """A service fails at the record of this offset; the dead letter's id."""
    record = Record(Partition(topic, 0), number, NOON, b"key", b"value")
    letter = dead_letter(record, "ingest", ValueError("reason"), at)
    with opened_log(configured) as log:
        log.append([as_message(letter)])
    return letter.event_id


@given(steps)
@examples(times=0.4)
def test_the_list_holds_those_open_newest_first(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        configured = load({"BENANZA_DATA": folder})
        ids: dict[int, str] = {}
        order: list[int] = []
        states: dict[int, str] = {}
        for second, (step, number) in enumerate(steps):
            if step == "fails":
                ids[number] = fail(configured, number, NOON + timedelta(seconds=second))
                order = [*(n for n in order if n != number), number]
                states[number] = "open"
                continue
            identity = ids.get(number, "0" * 32)
            action: Action = "replayed" if step == "replayed" else "dropped"
            done = settle_dead_letters(configured, action, ids=[identity])
            if states.get(number) == "open":
                assert (done.dead_letters, done.errors) == ((identity,), ())
                states[number] = step
            else:
                assert done.dead_letters == ()
                assert [error.id for error in done.errors] == [identity]
        everything = list_dead_letters(configured, service=None, limit=10, settled=True)
        assert [letter.id for letter in everything.dead_letters] == [ids[n] for n in order[::-1]]
        assert [letter.state for letter in everything.dead_letters] == [
            states[n] for n in order[::-1]
        ]
        still_open = list_dead_letters(configured, service=None, limit=10, settled=False)
        assert [letter.id for letter in still_open.dead_letters] == [
            ids[n] for n in order[::-1] if states[n] == "open"
        ]


def test_a_crash_between_the_two_writes_leaves_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it may be replayed twice, and is never lost."""
    configured = load({"BENANZA_DATA": str(tmp_path)})
    identity = fail(configured, 1, NOON)

    def crash(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("benanza.operating.dead_letters._settlement", crash)
        with pytest.raises(MemoryError):
            settle_dead_letters(configured, "replayed", ids=[identity])
    with opened_log(configured) as log:
        assert len(log.read(Partition(MODELS, 0), 0, 10)) == 1
    (found,) = list_dead_letters(configured, service=None, limit=1, settled=False).dead_letters
    assert msgspec.structs.asdict(found)["id"] == identity


def test_what_is_no_dead_letter_in_their_topic_can_only_be_dropped(tmp_path: Path) -> None:
    """Replayed, it would come back again and again."""
    configured = load({"BENANZA_DATA": str(tmp_path)})
    identity = fail(configured, 1, NOON, DEAD_LETTERS)
    (refused,) = settle_dead_letters(configured, "replayed", ids=[identity]).errors
    assert "would come back: drop it" in refused.reason
    assert settle_dead_letters(configured, "dropped", ids=[identity]).dead_letters == (identity,)


@pytest.mark.parametrize("size", [5, MAX_KEPT_BYTES + 1])
def test_a_compressed_batch_can_only_be_dropped(size: int, tmp_path: Path) -> None:
    """Replayed, its bytes would be one event that is none, and its events look settled."""
    configured = load({"BENANZA_DATA": str(tmp_path)})
    record = Record(Partition(MODELS, 0), 4, NOON, b"", Unread(bytes(size), "compressed with gzip"))
    with pytest.raises(DecodeError) as raised:
        _decoded(record)
    letter = dead_letter(record, "ingest", raised.value, NOON)
    with opened_log(configured) as log:
        log.append([as_message(letter)])
    (refused,) = settle_dead_letters(configured, "replayed").errors
    assert "publish its events again, and drop" in refused.reason
    assert settle_dead_letters(configured, "dropped").dead_letters == (letter.event_id,)


def test_it_is_settled_after_it_failed_whatever_the_clocks_say(tmp_path: Path) -> None:
    """The store goes by these times; a service's clock may be ahead."""
    configured = load({"BENANZA_DATA": str(tmp_path)})
    ahead = datetime.now(UTC) + timedelta(days=1)
    identity = fail(configured, 1, ahead)
    settle_dead_letters(configured, "dropped", ids=[identity])
    (found,) = list_dead_letters(configured, service=None, limit=1, settled=True).dead_letters
    assert found.settled_at is not None
    assert found.settled_at > ahead


def test_what_failed_at_the_last_time_can_be_settled(tmp_path: Path) -> None:
    configured = load({"BENANZA_DATA": str(tmp_path)})
    identity = fail(configured, 1, LAST_TIME)
    settle_dead_letters(configured, "dropped", ids=[identity])
    (found,) = list_dead_letters(configured, service=None, limit=1, settled=True).dead_letters
    assert (found.state, found.settled_at) == ("dropped", LAST_TIME)
