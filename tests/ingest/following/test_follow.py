"""At another batch size a model is what an export at that size is, or it is refused by name."""

import lzma
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.reading.zoo import zoo_path
from tests.examples import examples
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import DEPEND_ON_DATA, EXPORTED, LIGHT
from tests.ingest.real_models import content as file_of

REFUSED = "export it anew at batch size"


def told(model: ExtractedModel) -> list[tuple[str, str, int, int, int]]:
    """What is compared: identity, kind and costs of each layer, in order."""
    return [(x.op, x.fingerprint, x.flops, x.bytes, x.parameters) for x in model.layers]


def is_either_right_or_refused(one: bytes, truth: bytes, batch: int) -> bool:
    """Whether the export `one` was bound; at `batch` it must be what the export `truth` is."""
    wanted = extract(truth)
    assert wanted.batch == batch
    assert "skipped" not in {layer.kind for layer in wanted.layers}
    try:
        found = extract(one, batch=batch)
    except ModelError as error:
        if REFUSED not in str(error):
            raise
        return False
    assert told(found) == told(wanted)
    assert found.edges == wanted.edges
    return True


@dataclass
class Exporter:
    """Writes a graph at a fixed batch size, with sizes as constants, as exporters do.

    `outer` and `inner` are the sizes before and after the axis that holds the batch, `times` and
    `within` what else that axis holds, outside and inside of the batch.
    """

    batch: int
    outer: list[int]
    inner: list[int]
    times: int = 1
    within: int = 1
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    value: str = "x"

    def sizes(self) -> list[int]:
        return [*self.outer, self.times * self.batch * self.within, *self.inner]

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op_type: str, *more: str, **attributes: Any) -> None:
        result = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op_type, [self.value, *more], [result], name=result, **attributes)
        )
        self.value = result

    def reshape(self, sizes: list[int]) -> None:
        self.node("Reshape", self.constant(np.array(sizes, np.int64)))

    def file(self, first: list[int]) -> bytes:
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, first)],
            [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, self.sizes())],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 20)]
        encoded: bytes = helper.make_model(graph, opset_imports=opsets).SerializeToString()
        return encoded


Step = Callable[[Exporter], None]


def split_last(parts: int, left_open: int | None) -> Step:
    """Heads of a width, groups of channels."""

    def step(to: Exporter) -> None:
        if to.inner and to.inner[-1] % parts == 0:
            to.inner[-1:] = [parts, to.inner[-1] // parts]
            stated(to, left_open)

    return step


def stated(to: Exporter, left_open: int | None, copied: bool = False) -> None:
    """A Reshape to the present sizes; one may be left open, and those that stay be copied."""
    sizes = to.sizes()
    if left_open is not None and left_open < len(sizes):
        sizes[left_open] = -1
    to.reshape(
        [0 if copied and axis == 0 and size != -1 else size for axis, size in enumerate(sizes)]
    )


def flatten(left_open: int | None) -> Step:
    def step(to: Exporter) -> None:
        if to.inner and not to.outer:
            to.inner = [int(np.prod(to.inner))]
            stated(to, left_open)

    return step


def fold(to: Exporter) -> None:
    """Batch × heads, batch × windows: what follows the batch joins its axis."""
    if len(to.inner) > 1:
        to.within *= to.inner.pop(0)
        stated(to, None)


def unfold(to: Exporter) -> None:
    if to.within > 1 and to.times == 1:
        to.inner.insert(0, to.within)
        to.within = 1
        stated(to, None)


def fold_outer(to: Exporter) -> None:
    """Tokens × batch: what precedes the batch joins its axis."""
    if to.outer:
        to.times *= to.outer.pop()
        stated(to, None)


def swap(first: int, second: int) -> Step:
    """A Transpose of two axes, that of the batch as well."""

    def step(to: Exporter) -> None:
        rank, at = len(to.sizes()), len(to.outer)
        if max(first, second) < rank:
            order = list(range(rank))
            order[first], order[second] = second, first
            sizes = to.sizes()
            place = order.index(at)
            moved = [sizes[axis] for axis in order]
            to.outer, to.inner = moved[:place], moved[place + 1 :]
            to.node("Transpose", perm=order)

    return step


def relu(to: Exporter) -> None:
    to.node("Relu")


def softmax(to: Exporter) -> None:
    to.node("Softmax", axis=-1)


def add(to: Exporter) -> None:
    if to.inner:
        to.node("Add", to.constant(np.zeros(to.inner[-1:], np.float32)))


def product(columns: int) -> Step:
    def step(to: Exporter) -> None:
        if to.inner:
            to.node("MatMul", to.constant(np.zeros((to.inner[-1], columns), np.float32)))
            to.inner[-1] = columns

    return step


def attend(to: Exporter) -> None:
    """A product with itself, transposed."""
    if len(to.inner) > 1 or (to.inner and to.outer):
        rank, source = len(to.sizes()), to.value
        order = [*range(rank - 2), rank - 1, rank - 2]
        if len(to.inner) < 2:
            return
        to.node("Transpose", perm=order)
        transposed, to.value = to.value, source
        to.node("MatMul", transposed)
        to.inner[-1] = to.inner[-2]


def token(to: Exporter) -> None:
    """A class token, joined to each element of the batch."""
    if to.inner and to.times == to.within == 1:
        one = [*to.outer, to.batch, 1, *to.inner[1:]]
        to.node("Concat", to.constant(np.zeros(one, np.float32)), axis=len(to.outer) + 1)
        to.inner[0] += 1


def repeat(times: int) -> Step:
    """An Unsqueeze and an Expand that states all sizes, as for grouped queries."""

    def step(to: Exporter) -> None:
        if to.inner:
            axis = len(to.outer) + 1
            to.node("Unsqueeze", to.constant(np.array([axis], np.int64)))
            to.inner.insert(0, times)
            to.node("Expand", to.constant(np.array(to.sizes(), np.int64)))

    return step


def cut(to: Exporter) -> None:
    if to.inner and to.inner[-1] > 1:
        starts, ends, axes = ([0], [to.inner[-1] - 1], [len(to.sizes()) - 1])
        to.node("Slice", *(to.constant(np.array(v, np.int64)) for v in (starts, ends, axes)))
        to.inner[-1] -= 1


def mean(to: Exporter) -> None:
    if to.inner:
        to.node("ReduceMean", to.constant(np.array([-1], np.int64)), keepdims=1)
        to.inner[-1] = 1


def heads(parts: int, joined: bool) -> Step:
    """The width is split into heads, which join the batch: or the tokens are joined to it."""

    def step(to: Exporter) -> None:
        if to.inner and to.inner[-1] % parts == 0:
            if joined and to.outer:
                to.times *= to.outer.pop()
                to.inner[-1:] = [parts, to.inner[-1] // parts]
            elif len(to.inner) == 1:
                to.within *= parts
                to.inner[-1] //= parts
            stated(to, None)

    return step


def mix(to: Exporter) -> None:
    """Undoes `heads`: what is in the axis of the batch joins the width."""
    if to.times == 1 and to.within > 1 and len(to.inner) == 1:
        to.inner[0] *= to.within
        to.within = 1
        stated(to, None)


def strided(to: Exporter) -> None:
    """All elements in one axis, and a Gather that transposes each element of the batch."""
    if not to.outer and to.times == 1 and len(to.inner) > 1:
        to.reshape([-1])
        places = np.arange(int(np.prod(to.sizes())), dtype=np.int64).reshape(to.sizes())
        to.node("Gather", to.constant(np.swapaxes(places, -1, -2)), axis=0)
        to.inner[-2:] = [to.inner[-1], to.inner[-2]]


def add_to_each(to: Exporter) -> None:
    """A bias of heads or windows, repeated for each element of the batch."""
    if to.within > 1 and to.times == 1:
        one = np.arange(to.within * int(np.prod(to.inner)), dtype=np.float32)
        every = np.tile(one.reshape(to.within, *to.inner), (to.batch, *[1] * len(to.inner)))
        to.node("Add", to.constant(every))


def pick(to: Exporter) -> None:
    """Picks by positions that are the same for each element of the batch."""
    if not to.outer and to.times == 1 and to.inner:
        places = np.zeros([to.batch * to.within, *to.inner], np.int64)
        to.node("GatherElements", to.constant(places), axis=len(to.inner))


def computed(to: Exporter) -> None:
    """A Reshape whose shape is partly computed: a Concat of a size and of constants."""
    if not to.outer and to.inner:
        source = to.value
        to.node("Shape", start=0, end=1)
        size, to.value = to.value, source
        rest = to.constant(np.array([int(np.prod(to.inner))], np.int64))
        joined = f"v{len(to.nodes)}"
        to.nodes.append(helper.make_node("Concat", [size, rest], [joined], name=joined, axis=0))
        to.inner = [int(np.prod(to.inner))]
        to.node("Reshape", joined)


OPEN = st.none() | st.integers(0, 3)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.builds(split_last, st.integers(2, 3), OPEN),
    st.builds(flatten, OPEN),
    st.sampled_from([fold, unfold, fold_outer, relu, softmax, add, attend, token, cut, mean]),
    st.sampled_from([computed, fold, unfold, mix, strided, add_to_each, pick]),
    st.builds(heads, st.integers(2, 3), st.booleans()),
    st.builds(swap, st.integers(0, 3), st.integers(0, 3)),
    st.builds(product, st.sampled_from([6, 8, 12])),
    st.builds(repeat, st.integers(2, 3)),
)


@examples(4)
@given(
    sizes=st.lists(st.sampled_from([2, 3, 4, 6, 12]), min_size=1, max_size=3),
    steps=st.lists(STEPS, min_size=1, max_size=10),
    former=st.sampled_from([1, 1, 2, 3]),
    times=st.integers(2, 5),
)
def test_a_graph_is_what_it_is_if_it_is_built_at_that_batch_size(
    sizes: list[int], steps: list[Step], former: int, times: int
) -> None:
    files = []
    for batch in (former, former * times):
        to = Exporter(batch, [], list(sizes))
        for step in steps:
            step(to)
        relu(to)
        files.append(to.file([batch, *sizes]))
    bound = is_either_right_or_refused(files[0], files[1], former * times)
    event("bound" if bound else "refused")


def attention(parts: int, joined: bool) -> Step:
    """Of tokens for each head, or of heads for each token; then back to what it was."""

    def step(to: Exporter) -> None:
        if len(to.outer) != 1 or len(to.inner) != 1 or to.times * to.within > 1:
            return
        if to.inner[0] % parts == 0:
            steps = [heads(parts, joined), attend]
            steps = steps if joined else [steps[0], swap(0, 1), attend, swap(0, 1), mix]
            for each in steps:
                each(to)

    return step


@examples(2)
@given(
    sizes=st.lists(st.sampled_from([2, 3, 4, 6]), min_size=2, max_size=2),
    steps=st.lists(
        st.sampled_from([swap(0, 1), fold_outer, fold, unfold, attend, mix, relu, token])
        | st.builds(heads, st.integers(2, 3), st.booleans())
        | st.builds(attention, st.integers(2, 3), st.booleans())
        | st.builds(product, st.sampled_from([2, 4, 6])),
        min_size=1,
        max_size=8,
    ),
)
def test_a_graph_whose_batch_comes_second_is_right_or_refused(
    sizes: list[int], steps: list[Step]
) -> None:
    """Tokens × batch × width, as some attention has it."""
    files = []
    for batch in (1, 4):
        to = Exporter(batch, [], list(sizes))
        for step in [swap(0, 1), *steps, relu]:
            step(to)
        files.append(to.file([batch, *sizes]))
    bound = is_either_right_or_refused(files[0], files[1], 4)
    event("bound" if bound else "refused")


SAME = {
    "windows that are one": (
        "g (float[{b},7,7,8] x) => (y) <int64[6] s = {{{b},1,7,1,7,8}}, int64[3] w = {{{b},49,8}},"
        " int64[6] u = {{{b},1,1,7,7,8}}, int64[4] v = {{{b},7,7,8}}>"
        "{{ a = Reshape(x, s) c = Transpose<perm=[0,1,3,2,4,5]>(a) d = Reshape(c, w)"
        " e = Softmax(d) f = Reshape(e, u) g = Transpose<perm=[0,1,3,2,4,5]>(f) h = Reshape(g, v)"
        " y = Relu(h) }}"
    ),
    "a mask for each window": (
        "g (float[{b},8,4,4] x) => (y) <int64[4] s = {{{b2},4,4,4}},"
        " int64[5] t = {{{b},2,4,4,4}}, float[1,2,1,4,4] m>"
        "{{ a = Reshape(x, s) c = Reshape(a, t) d = Add(c, m) e = Reshape(d, s) y = Softmax(e) }}"
    ),
    "states of a recurrent operator": (
        "g (float[{b},5,4] x) => (y) <float[1,12,4] w, float[1,12,3] r, float[1,{b},3] h,"
        " int32[{b}] n>"
        "{{ t = Transpose<perm=[1,0,2]>(x) y = GRU<hidden_size=3>(t, w, r, , n, h) }}"
    ),
    "a resized map": (
        "g (float[{b},3,8,8] x) => (y) <int64[4] s = {{{b},3,16,16}}, float[3,3,1,1] w>"
        "{{ t = Resize<mode=\"nearest\">(x, , , s) y = Conv(t, w) }}"
    ),
    "windows that are added up": (
        "g (float[{b},12,12] x) => (y) <int64[2] s = {{7,9}}, int64[2] w = {{2,2}}>"
        "{{ t = Col2Im<strides=[2,2]>(x, s, w) y = Relu(t) }}"
    ),
    "keys that are repeated": (
        "g (float[{b},2,6,4] x) => (y) <int64[5] s = {{{b},2,3,6,4}}, int64[4] t = {{{b},6,6,4}},"
        " int64[1] a = {{2}}>"
        "{{ u = Unsqueeze(x, a) e = Expand(u, s) r = Reshape(e, t) y = Softmax(r) }}"
    ),
    "a bias that broadcasts": (
        "g (float[{b},6,4] x) => (y) <float[1,6,4] p> {{ t = Add(x, p) y = Relu(t) }}"
    ),
    "each image's elements, from all in one axis": (
        "g (float[{b},2,3] x) => (y) <int64[1] f = {{-1}}, int64 z = {{0}}, int64 n = {{{b6}}},"
        " int64 o = {{1}}, int64[3] s = {{{b},3,2}}, int64[2] t = {{{b},6}}>"
        "{{ a = Reshape(x, f) r = Range(z, n, o) i = Reshape(r, s) c = Gather(a, i)"
        " d = Reshape(c, t) y = Softmax(d) }}"
    ),
    "a bias for the heads of each image": (
        "g (float[{b},2,4,3] x) => (y) <int64[3] s = {{{b2},4,3}}, float[2,4,3] m,"
        " int64[3] r = {{{b},1,1}}, int64[4] t = {{{b},2,4,3}}>"
        "{{ a = Reshape(x, s) p = Tile(m, r) c = Add(a, p) d = Reshape(c, t) y = Softmax(d) }}"
    ),
    "keys without the batch, for the heads of each image": (
        "g (float[{b},2,4,3] x) => (y) <int64[3] s = {{{b2},4,3}}, float[2,3,5] m,"
        " int64[3] r = {{{b},1,1}}, int64[4] t = {{{b},2,4,5}}>"
        "{{ a = Reshape(x, s) p = Tile(m, r) c = MatMul(a, p) d = Reshape(c, t) y = Softmax(d) }}"
    ),
    "picked from the same for each text": (
        "g (int64[{b},4] x) => (y) <float[1,9] m, int64[2] s = {{{b},9}}>"
        "{{ e = Expand(m, s) t = GatherElements<axis=1>(e, x) y = Relu(t) }}"
    ),
    "the same picked for each image": (
        "g (float[{b},2,4,3] x) => (y) <int64[3] s = {{{b2},4,3}}, int64[2,4,1] i,"
        " int64[3] r = {{{b},1,1}}, int64[4] t = {{{b},2,4,1}}>"
        "{{ a = Reshape(x, s) p = Tile(i, r) c = GatherElements<axis=2>(a, p) d = Reshape(c, t)"
        " y = Relu(d) }}"
    ),
    "heads that join a batch that comes second": (
        "g (float[{b},5,6] x) => (y) <int64[3] s = {{5,{b2},3}}, int64[2] t = {{{b5},6}},"
        " int64[3] u = {{5,{b},6}}, float[6,6] w, int64[4] h = {{{b},2,5,3}}>"
        "{{ f = Transpose<perm=[1,0,2]>(x) q = Reshape(f, s) k = Reshape(f, s)"
        " qt = Transpose<perm=[1,0,2]>(q) qh = Reshape(qt, h)"
        " kt = Transpose<perm=[1,0,2]>(k) kh = Reshape(kt, h) ki = Transpose<perm=[0,1,3,2]>(kh)"
        " a = MatMul(qh, ki) p = Softmax(a) o = MatMul(p, kh) c = Transpose<perm=[2,0,1,3]>(o)"
        " d = Reshape(c, t) e = Gemm(d, w) g = Reshape(e, u) y = Transpose<perm=[1,0,2]>(g) }}"
    ),
    "an equation": (
        "g (float[{b},6,4] x) => (y) <float[4,5] w>"
        "{{ t = Einsum<equation=\"bic,cd->bid\">(x, w) y = Relu(t) }}"
    ),
}  # fmt: skip
"""Graphs with their batch in constants, `b`, or twice that, `b2`, and so on."""


def with_zeros(text: str) -> str:
    """Gives constants without elements zeros."""

    def filled(found: re.Match[str]) -> str:
        count = int(np.prod([int(size) for size in found[1].split(",")]))
        return f"{found[0]} = {{{','.join('0' * count)}}}"

    head, arrow, rest = text.partition("=> (y)")
    return head + arrow + re.sub(r"(?:float|int32|int64)\[([\d,]+)\] \w+(?=[,>])", filled, rest)


def written(text: str, batch: int) -> str:
    return with_zeros(text.format(b=batch, b2=2 * batch, b5=5 * batch, b6=6 * batch))


@pytest.mark.parametrize("name", SAME)
def test_what_plainly_holds_the_batch_is_bound(name: str) -> None:
    inputs = {"windows that are one": 1, "a mask for each window": 3}.get(name, 2)
    for former in {1, inputs}:
        wanted = extracted(written(SAME[name], 6))
        assert told(extracted(written(SAME[name], former), batch=6)) == told(wanted)


def test_many_indices_are_not_written_down() -> None:
    """As of an export at that batch size, only their type is known."""
    text = written(SAME["each image's elements, from all in one axis"], 1)
    found = extracted(text, batch=10**10)
    gather = next(layer for layer in found.layers if layer.op == "Gather")
    assert gather.layer is not None
    assert [tensor.shape for tensor in gather.layer.tensors][1:] == [(10**10, 3, 2)] * 2


LOST = {
    "the first of the images": (
        "g (float[1,3,4] x) => (y) <int64 z = {0}> { t = Relu(x) y = Gather(t, z) }",
        "'y' (Gather): its result stays 3×4",
    ),
    "a part of the elements of all images": (
        "g (float[1,3,4] x) => (y) <int64[1] f = {-1}, int64[1,2] i = {0,11}>"
        "{ t = Reshape(x, f) y = Gather(t, i) }",
        "'y' (Gather): its result stays 1×2",
    ),
    "heads that may join the tokens or the batch": (
        "g (float[1,5,8] x) => (y) <int64[3] s = {5,2,4}, float[4,4] w>"
        "{ t = Transpose<perm=[1,0,2]>(x) r = Reshape(t, s) u = MatMul(r, w) y = Relu(u) }",
        "'r' (Reshape): it can't be told where the batch is in its result, 5×2×4",
    ),
    "a part that was all": (
        "g (float[1,3,4] x) => (y) <int64[1] z = {0}, int64[1] e = {1}>"
        "{ t = Slice(x, z, e, z) y = Relu(t) }",
        "'t' (Slice): its result stays 1×3×4",
    ),
    "a mean over the images": (
        "g (float[2,3,4] x) => (y) <int64[1] z = {0}> { y = ReduceMean(x, z) }",
        "'y' (ReduceMean): its result stays 1×3×4",
    ),
    "tokens and images in one axis": (
        "g (float[1,5,8] x) => (y) <int64[2] s = {5,8}>"
        "{ t = Transpose<perm=[1,0,2]>(x) r = Reshape(t, s) y = Relu(r) }",
        "'r' (Reshape): it can't be told where the batch is in its result, 5×8",
    ),
    "each image with each": (
        "g (float[3,4] x) => (y) { t = Transpose(x) y = MatMul(x, t) }",
        "'y' (MatMul): its result, 3×3 at batch size 3, would be 6×6",
    ),
    "channels of all images": (
        "g (float[2,3,4] x) => (y) <int64[3] s = {1,6,4}, float[6] w>"
        "{ t = Reshape(x, s) y = BatchNormalization(t, w, w, w, w) }",
        "'y' (BatchNormalization): the batch is among what it takes as channels",
    ),
    "rows of all images": (
        "g (float[2,3] x) => (y) <int64[2] s = {1,6}, float[6] w>"
        "{ t = Reshape(x, s) y = LayerNormalization(t, w) }",
        "'y' (LayerNormalization): the batch is among the axes that it normalises",
    ),
    "places in one image": (
        "g (float[1,3,4] x, float[2,4] u) => (y) <int64[2,2] i = {0,1,0,2}>"
        "{ y = ScatterND(x, i, u) }",
        "'y' (ScatterND): its input 'i' is without the batch",
    ),
    "a Squeeze of the only image": (
        "g (float[1,3] x) => (y) <int64[1] z = {0}> { t = Squeeze(x, z) y = Relu(t) }",
        "'t' (Squeeze): at that batch size, ",
    ),
    "an operator that onnx doesn't know": (
        "g (float[1,3] x) => (y) { y = com.example.Foo(x) }",
        "'y' (Foo): how large its result is isn't known",
    ),
    "how many there are depends on the data": (
        "g (float[1,3] x) => (y) { t = NonZero(x) y = Transpose(t) }",
        "'t' (NonZero): how large its result is isn't known",
    ),
    "states of another batch size": (
        "g (float[2,5,4] x, float[3,2,3] h) => (y) <int64[3] s = {1,2,3}, int64[1] z = {0},"
        " int64[1] e = {1}, float[1,9,4] w, float[1,9,3] r>"
        "{ f = Slice(h, z, e, z) t = Transpose<perm=[1,0,2]>(x) y = GRU<hidden_size=3>(t, w, r, , ,"
        " f) }",
        "'y' (GRU): its input 'f' is of another batch size",
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_where_the_batch_is_lost_the_model_is_refused(name: str) -> None:
    text, said = LOST[name]
    with pytest.raises(ModelError) as refused:
        extracted(with_zeros(text), domains={"com.example": 1}, batch=6)
    assert str(refused.value).startswith(f"the batch size of 6 is lost at node {said}")
    assert "\n" not in str(refused.value)
    assert REFUSED in str(refused.value)


def test_what_nobody_reads_may_lose_the_batch() -> None:
    found = extracted(
        "g (float[1,3] x) => (y) <int64 z = {0}> { t = Gather(x, z) y = Relu(x) }", batch=4
    )
    assert [layer.op for layer in found.layers] == ["Relu"]


def test_a_model_without_a_batch_cannot_have_another() -> None:
    with pytest.raises(ModelError, match="the model has no batch that could be 4"):
        extracted("g (float x) => (y) { y = Relu(x) }", batch=4)


REFUSED_EXPORTS = DEPEND_ON_DATA | {"timm-convnext_atto", "torchvision-swin_t"}
"""They take one image out, or pick elements by indices whose values the file is without."""

ONCE_REFUSED = (
    "timm:coatnet_0_rw_224",
    "timm:convnextv2_nano",
    "timm:edgenext_small",
    "timm:focalnet_tiny_srf",
    "torchvision:convnext_tiny",
    "torchvision:swin_t",
    "torchvision:vit_b_16",
    "transformers:deberta-v2-small",
    "transformers:roberta-base",
)
"""Of the zoo: they have Gathers of all elements, a batch that comes second, repeated constants."""


@pytest.mark.parametrize("name", sorted({*LIGHT, *EXPORTED} - REFUSED_EXPORTS))
def test_each_layer_of_an_export_takes_8_times_the_operations_at_batch_8(name: str) -> None:
    takes_8_times_the_operations_at_batch_8(file_of(name))


@pytest.mark.parametrize("name", ONCE_REFUSED)
def test_so_it_is_for_exports_of_the_zoo(name: str) -> None:
    takes_8_times_the_operations_at_batch_8(lzma.decompress(zoo_path(name).read_bytes()))


def takes_8_times_the_operations_at_batch_8(content: bytes) -> None:
    one, eight = extract(content), extract(content, batch=8)
    assert one.batch == 1
    assert "skipped" not in {layer.kind for layer in eight.layers}
    assert eight.edges == one.edges
    for a, b in zip(one.layers, eight.layers, strict=True):
        assert (b.op, b.flops) == (a.op, 8 * a.flops), a.name


@pytest.mark.parametrize("name", sorted(REFUSED_EXPORTS))
def test_an_export_without_a_place_of_the_batch_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=r"is lost at node '.*Gather|as_strided"):
        extract(file_of(name), batch=8)


@pytest.mark.parametrize(
    "body",
    [
        "q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z, o) c = Cast<to=1>(i)"
        " y = Mul(c, s)",
        "q = QuantizeLinear(x, t, p) d = DequantizeLinear(q, t, p) f = DequantizeLinear(w, t, o)"
        " y = MatMul(d, f)",
        "q = QuantizeLinear(x, t, p) a = com.microsoft.QLinearAdd(q, t, p, q, t, p, t, p)"
        " b = com.microsoft.QLinearMul(a, t, p, v, t, p, t, p)"
        " c = com.microsoft.QLinearConcat<axis=1>(t, p, b, t, p, a, t, p)"
        " y = DequantizeLinear(c, t, p)",
        "y = com.microsoft.MatMulNBits<K=8, N=4, block_size=16>(x, k, u)",
        "y = com.microsoft.DynamicQuantizeMatMul(x, w, t)",
    ],
    ids=["dynamic", "qdq", "operators", "four bits", "dynamic operator"],
)
def test_scales_and_zero_points_are_of_any_batch(body: str) -> None:
    text = (
        "g (float[1,8] x) => (float[1,n] y) <float t = {0.5}, uint8 p = {3}, int8 o = {0},"
        ' int8[8,4] w = ["location": "w"], uint8[8] v = ["location": "v"],'
        ' uint8[4,1,8] k = ["location": "k"], float[4] u = ["location": "u"]> {' + body + " }"
    )
    one, four = (extracted(text, domains={"com.microsoft": 1}, batch=batch) for batch in (1, 4))
    assert "skipped" not in {layer.kind for layer in four.layers}
    assert four.layers[-1].flops == 4 * one.layers[-1].flops
