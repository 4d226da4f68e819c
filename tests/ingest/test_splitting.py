"""Models in sequences of layers, as DLBricks splits them."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benanza_ingest.extract import wired
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.limits import Limits
from benanza_ingest.splitting import split
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.session import CPU, Session
from benanza_schemas.identity import canonical, fingerprint
from tests.ingest.onnx_text import content
from tests.ingest.real_models import ALL
from tests.ingest.real_models import content as file_of


def wiring_of(encoded: bytes) -> Wiring:
    return wired(encoded, batch=None, dims={}, limits=Limits()).wiring


CHAIN = """
g (float[1, 8, 6, 6] x) => (float[1, 8, 6, 6] y) {
    a = Relu(x)
    b = Sigmoid(a)
    c = Relu(b)
    d = Sigmoid(c)
    e = Add(d, a)
    y = Relu(e)
}
"""


def test_sequences_are_cut_after_so_many_layers() -> None:
    found = split(wiring_of(content(CHAIN)), 4)
    assert [each.positions for each in found] == [(0, 1, 2, 3), (4, 5)]
    assert [each.layer.title() for each in found] == ["Relu+Sigmoid+Relu+Sigmoid", "Add+Relu"]
    # What a later sequence reads leaves this one.
    assert len(found[0].layer.outputs) == 2


def test_a_result_that_is_read_elsewhere_makes_another_sequence() -> None:
    first, second, last = split(wiring_of(content(CHAIN)), 2)
    assert first.fingerprint != last.fingerprint
    # The first has a second result.
    assert len(first.layer.outputs) == 2
    assert len(second.layer.outputs) == 1


def test_a_skipped_layer_ends_a_sequence() -> None:
    text = """
    g (float[4] x) => (float[4] b, float[4] y) {
        a = Relu(x)
        b = Odd.Op(a)
        c = Abs(x)
        y = Sigmoid(c)
    }
    """
    wiring = wiring_of(content(text, domains={"Odd": 1}))
    assert [each.positions for each in split(wiring, 10)] == [(0,), (2, 3)]


def test_layers_that_cannot_be_joined_stand_alone() -> None:
    """Nine results that look the same are too many."""
    many = "".join(f"a{n} = Relu(x)\n" for n in range(9))
    results = ", ".join(f"float[4] a{n}" for n in range(9))
    found = split(wiring_of(content(f"g (float[4] x) => ({results}) {{ {many} }}")), 9)
    assert found[0].positions == (0,)
    assert [*chain.from_iterable(each.positions for each in found)] == [*range(9)]


def test_no_sequence_is_shorter_than_a_layer() -> None:
    with pytest.raises(ValueError, match="at least one layer, not 0"):
        split(wiring_of(content(CHAIN)), 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_each_layer_is_in_one_sequence(name: str) -> None:
    wiring = wiring_of(file_of(name))
    known = [at for at, layer in enumerate(wiring.layers) if layer.layer is not None]
    for granularity in (1, 3, 7):
        found = split(wiring, granularity)
        assert [*chain.from_iterable(each.positions for each in found)] == known
        for each in found:
            assert 1 <= len(each.positions) <= granularity
            assert each.positions == tuple(range(each.positions[0], each.positions[-1] + 1))
    calls = [replace(each.layer, execution="call") for each in split(wiring, 1)]
    assert [*map(fingerprint, calls)] == [wiring.layers[at].fingerprint for at in known]


@given(st.integers(1, 8))
def test_a_sequence_is_a_network_that_runs(granularity: int) -> None:
    for sequence in split(wiring_of(content(CHAIN)), granularity):
        assert sequence.layer.execution == "network"
        assert canonical(sequence.layer) == sequence.layer
        assert fingerprint(sequence.layer) == sequence.fingerprint
        model = layer_model(sequence.layer)
        assert Session(model.proto, model.constants, model.inputs, CPU, threads=1).call().us > 0
