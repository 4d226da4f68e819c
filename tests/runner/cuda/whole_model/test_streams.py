"""Steps that depend on each other stay on one stream; others run beside them."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.whole_model.streams import assign


def test_a_chain_stays_on_its_stream() -> None:
    assert assign([(), (0,), (1,), (2,)]) == [0, 0, 0, 0]


def test_branches_run_beside_each_other_and_meet_on_one_of_their_streams() -> None:
    assert assign([(), (0,), (0,), (0,), (1, 2, 3)]) == [0, 0, 1, 2, 2]


@given(st.lists(st.sets(st.integers(0, 30), max_size=3), max_size=30), st.integers(1, 5))
def test_every_step_has_one_of_the_streams(reads: list[set[int]], streams: int) -> None:
    earlier = [sorted(r for r in read if r < step) for step, read in enumerate(reads)]
    found = assign(earlier, streams)
    assert len(found) == len(reads)
    assert set(found) <= set(range(streams))
