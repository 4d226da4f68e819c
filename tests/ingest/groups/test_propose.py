"""Groups of real models keep the rules, and are layers like any other."""

from pathlib import Path

import pytest

from benanza.importing.recording import read_recording
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.groups import channels_last, epilogue, in_place, shuffle
from benanza_ingest.groups.attention import propose as attention
from benanza_ingest.groups.functions import propose as functions
from benanza_ingest.groups.regions import propose as regions
from benanza_ingest.layering import costs
from benanza_schemas.events import LayerMeasured
from benanza_schemas.identity import canonical, fingerprint
from benanza_schemas.layer import OMITTED
from tests.ingest.groups.graph_rules import OPEN, check_group, is_of_simplified
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import ALL, LIGHT, content
from tests.ingest.real_models import extracted as real


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_groups_are_convex_and_chains_have_every_prefix(name: str) -> None:
    model = real(name)
    of_whole = [group for group in model.groups if not is_of_simplified(group)]
    chains = {group.layers for group in of_whole if group.rule != functions.RULE}
    readers: dict[int, set[int]] = {}
    for writer, reader in model.edges:
        readers.setdefault(writer, set()).add(reader)
    others = {(g.layers, g.rule) for g in of_whole if g.rule == functions.RULE}
    assert len(chains) + len(others) == len(of_whole), "each set of layers once"
    for group in model.groups:
        check_group(model, group)
    for group in of_whole:
        if group.rule == epilogue.RULE:
            for size in range(2, len(group.layers)):
                prefix = group.layers[:size]
                # One whose values are read beyond it, as in an activation that is written out.
                is_open = any(not readers[at] <= set(prefix) for at in prefix[:-1])
                ends_in_view = model.layers[prefix[-1]].kind == "view"
                assert is_open or ends_in_view or prefix in chains
        kinds = {model.layers[position].kind for position in group.layers}
        if group.rule in (shuffle.RULE, channels_last.RULE):
            assert kinds == {"view", "movement"}
        elif group.rule != regions.RULE:
            has_moves = group.rule in (attention.RULE, in_place.RULE, functions.RULE)
            moves = {"movement"} if has_moves else set()
            views = {"view"} if has_moves or group.rule == epilogue.RULE else set()
            # Transposes in a row are a function, too.
            assert "compute" in kinds or group.rule == functions.RULE
            assert kinds <= {"compute", *moves, *views}


def check_attention(group: ExtractedGroup, members: list[ExtractedLayer]) -> None:
    """Its layer is ONNX's operator, and has nothing that its members lack."""
    assert group.layer.title().split("+").count("Attention") == 1
    assert group.flops == costs.flops(group.layer) <= sum(member.flops for member in members)
    assert group.bytes == costs.moved_bytes(group.layer)
    assert group.bytes < sum(member.bytes for member in members)
    assert costs.parameters(group.layer) <= sum(member.parameters for member in members)


def is_form(group: ExtractedGroup, members: list[ExtractedLayer]) -> bool:
    """Whether its layer has no view, or a Gelu that its members write out."""
    kinds = {member.kind for member in members}
    return "view" in kinds or len(group.layer.operators) < len(members)


@pytest.mark.parametrize("name", ALL)
def test_a_groups_layer_is_that_of_its_members(name: str) -> None:
    model = real(name)
    assert model.groups
    for group in model.groups:
        members = [model.layers[position] for position in group.layers]
        assert canonical(group.layer) == group.layer
        assert fingerprint(group.layer) == group.fingerprint
        if is_of_simplified(group):
            assert len(group.layer.operators) <= len(members)
            assert group.flops == costs.flops(group.layer) <= sum(each.flops for each in members)
            continue
        if group.rule == attention.RULE:
            check_attention(group, members)
            continue
        if group.rule == epilogue.RULE and is_form(group, members):
            assert group.flops == costs.flops(group.layer)
            assert group.bytes == costs.moved_bytes(group.layer)
            assert group.bytes < sum(member.bytes for member in members)
            continue
        if group.rule in (*OPEN, functions.RULE):  # identity has an order of its own
            ops = [operator.op_type for operator in group.layer.operators]
            assert sorted(ops) == sorted(member.op for member in members)
        else:
            assert group.layer.title() == "+".join(member.op for member in members)
        assert group.flops == sum(member.flops for member in members) == costs.flops(group.layer)
        assert group.bytes == costs.moved_bytes(group.layer)
        if group.rule in (shuffle.RULE, channels_last.RULE):
            # Nothing stays inside; what views are told is read.
            told = [t.shape[0] for t in group.layer.tensors if t.dtype == "int64"]
            (moving,) = [member for member in members if member.kind == "movement"]
            assert group.bytes == moving.bytes + 8 * sum(told)
        elif group.rule not in OPEN:
            assert group.bytes < sum(member.bytes for member in members)
        # Several members may read one constant, and a number that is kept is no parameter.
        shared = group.rule in (*OPEN, functions.RULE)
        parameters = sum(member.parameters for member in members)
        assert shared or costs.parameters(group.layer) == parameters


def test_a_group_leaves_out_what_stays_inside() -> None:
    model = extracted(
        "g (float[1,3,8,8] x) => (y) <float[4,3,3,3] w = [\"location\": \"w\"]>"
        "{ c = Conv(x, w) y = Relu(c) }"
    )  # fmt: skip
    (group,) = model.groups
    assert group.bytes == 4 * (3 * 64 + 4 * 27 + 4 * 36)
    assert len(group.layer.tensors) == 4
    assert group.layer.outputs == (3,)


def test_the_same_chain_elsewhere_is_the_same_group() -> None:
    model = extracted(
        "g (float[1,4,8,8] x) => (y) <float[4,4,3,3] w = [\"location\": \"w\"],"
        " float[4,4,3,3] v = [\"location\": \"w\"]> { c = Conv<pads=[1,1,1,1]>(x, w) a = Relu(c)"
        " d = Conv<pads=[1,1,1,1]>(a, v) y = Relu(d) }"
    )  # fmt: skip
    one, other = model.groups
    assert one.fingerprint == other.fingerprint
    assert one.layer is other.layer or one.layer == other.layer


def test_a_residual_that_is_the_input_itself_is_another_group() -> None:
    """Adding what the convolution reads takes fewer bytes than adding something else."""
    text = (
        "g (float[1,4,8,8] x, float[1,4,8,8] z) => (y) <float[4,4,3,3] w = [\"location\": \"w\"]>"
        "{{ c = Conv<pads=[1,1,1,1]>(x, w) y = Add(c, {}) }}"
    )  # fmt: skip
    (own,) = extracted(text.format("x")).groups
    (other,) = extracted(text.format("z")).groups
    assert own.fingerprint != other.fingerprint
    assert other.bytes - own.bytes == 4 * 256


def test_a_constant_that_one_member_weighs_with_and_another_is_decided_by() -> None:
    """A Clip's bound is known by value, also where another member reads it as a weight."""
    model = extracted(
        "g (float[2,4] x) => (y) <float[4,4] w = [\"location\": \"w\"], float six = {6.0}> {"
        ' p = MatMul(x, w) a = Add(p, six) y = Clip(a, "", six) }'
    )  # fmt: skip
    last = [group for group in model.groups if group.rule == epilogue.RULE][-1]
    assert last.layer.title() == "MatMul+Add+Clip"
    clip = last.layer.operators[-1]
    assert clip.inputs[1] == OMITTED
    assert last.layer.tensors[clip.inputs[2]].value == b"\x00\x00\xc0\x40"
    assert canonical(last.layer) == last.layer


def test_operators_that_leave_outputs_out_at_the_end() -> None:
    model = extracted(
        "g (float[1,4,8,8] x) => (y) <float[4,4,3,3] w = [\"location\": \"w\"], float[4] b ="
        ' ["location": "w"]> { c = Conv(x, w, "") y = BatchNormalization(c, b, b, b, b) }'
    )  # fmt: skip
    (group,) = model.groups
    assert canonical(group.layer) == group.layer
    assert group.layer.operators[0].inputs == (0, 1)


@pytest.mark.slow
def test_what_was_measured_is_still_proposed() -> None:
    """Else the recording would have to be made anew."""
    proposed: set[str] = set()
    for name in LIGHT:
        for batch in (1, 32):
            model = extract(content(name), batch=batch)
            proposed.update(layer.fingerprint for layer in model.layers)
            proposed.update(group.fingerprint for group in model.groups)
    recording = Path(__file__).parents[3] / "recordings" / "nvidia-h200.xz"
    measured = {
        event.fingerprint
        for _, event in read_recording(recording)
        if isinstance(event, LayerMeasured)
    }
    assert len(measured) > 2_000
    assert measured <= proposed


def test_what_a_group_costs_follows_from_its_layer_alone() -> None:
    """Here too, where a layer of the model is a view, and none in a model where it sums more."""
    text = "g (float[4,8] x) => (y) { a = Relu(x) b = Sum(a) y = Sigmoid(b) }"
    (group, _) = (each for each in extracted(text).groups if each.layers == (0, 1, 2))
    assert group.flops == costs.flops(group.layer) == 3 * 32
