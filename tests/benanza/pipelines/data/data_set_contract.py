"""What every adapter of a data set keeps."""

import pytest

from benanza.pipelines.data.data_set import DataSet, chosen
from benanza.pipelines.failing import FailedSampleError
from benanza_backbone.errors import BenanzaError


class DataSetContract:
    """A subclass gives `data`: two classes, `a` and `b`, of three and two files, each other, and of
    the first class the last can't be read; and `again`, which opens the same anew.
    """

    def test_samples_are_in_one_order_with_their_classes(
        self, data: DataSet, again: DataSet
    ) -> None:
        assert data.classes == ("a", "b")
        assert [sample.label for sample in data.samples] == ["a", "a", "a", "b", "b"]
        assert [sample.position for sample in data.samples] == [0, 1, 2, 3, 4]
        assert data.samples == again.samples
        assert data.sha256 == again.sha256

    def test_what_can_t_be_read_is_there_and_fails(self, data: DataSet) -> None:
        first, _, broken, *_ = data.samples
        assert data.content(first).startswith(b"\xff\xd8\xff")
        with pytest.raises(FailedSampleError):
            data.content(broken)

    def test_a_part_is_chosen_by_a_seed(self, data: DataSet, again: DataSet) -> None:
        assert chosen(data, 5, 1) == data.samples
        some = chosen(data, 3, 1)
        assert some == chosen(again, 3, 1)
        assert len(set(some)) == 3
        assert list(some) == sorted(some)
        assert len({chosen(data, 3, seed) for seed in range(20)}) > 3
        with pytest.raises(BenanzaError, match="has 5 samples, fewer than 6"):
            chosen(data, 6, 1)
