"""Models that are fetched once, and their files as they are."""

from pathlib import Path

import numpy as np
from onnx import numpy_helper

from benanza.publishing.fetched_once import FetchedOnce
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import STRIPPED_FROM_BYTES
from tests.ingest.onnx_text import proto


def test_a_large_file_is_read_whole_though_it_is_kept_without_weights(tmp_path: Path) -> None:
    model = proto("g (float[1] x) => (float[1] y) { y = Add(x, w) }")
    weights = np.ones(STRIPPED_FROM_BYTES // 4 + 1, np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    path = tmp_path / "large.onnx"
    path.write_bytes(model.SerializeToString())
    fetch = FetchedOnce()
    assert not fetch(str(path), Limits()).whole
    assert fetch.whole(str(path), Limits()) == path.read_bytes()
    assert len(fetch(str(path), Limits()).content) < 1_000


def test_a_small_file_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    content = proto("g (float[1] x) => (float[1] y) { y = Relu(x) }").SerializeToString()
    path.write_bytes(content)
    fetch = FetchedOnce()
    assert fetch.whole(str(path), Limits()) == content
    path.unlink()
    assert fetch.whole(str(path), Limits()) == content
