import pytest

from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import NOTHING, Catalogue
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_schemas.events import LayerSummary
from tests.analyzer.events import fingerprint, group, model, summary

BLOCK = ("Conv", "Relu", "Concat")


def repeated_blocks(count: int) -> list[LayerSummary]:
    return [summary(op) for _ in range(count) for op in BLOCK]


def test_both_accountings_share_what_is_the_same() -> None:
    counted = compile_architecture(model([summary("Conv"), summary("Reshape")]), Catalogue())
    assert counted.paper is counted.full
    differ = compile_architecture(model([summary("Conv"), summary("Concat")]), Catalogue())
    assert differ.full.numbers.tolist() == [1, 2]
    assert differ.paper.numbers.tolist() == [1, NOTHING]
    assert (differ.paper.not_counted, differ.full.not_counted) == ((1,), ())


def test_components_that_are_the_same_but_for_their_positions_are_joined() -> None:
    groups = [group("cr", (3 * n, 3 * n + 1)) for n in range(5)]
    compiled = compile_architecture(model(repeated_blocks(5), groups=groups), Catalogue())
    (component,) = compiled.full.components
    assert component.places == tuple(((3 * n, 3 * n + 1),) for n in range(5))


def test_components_over_other_layers_stay_apart() -> None:
    layers = [summary("Conv", "a"), summary("Relu"), summary("Conv", "b"), summary("Relu")]
    groups = [group("ar", (0, 1)), group("br", (2, 3))]
    compiled = compile_architecture(model(layers, groups=groups), Catalogue())
    assert len(compiled.full.components) == 2
    assert compiled.full.components[0].shape is compiled.full.components[1].shape


def test_a_group_in_which_nothing_is_counted_is_left_out() -> None:
    layers = [summary("Conv"), summary("Concat"), summary("TopK")]
    compiled = compile_architecture(model(layers, groups=[group("ct", (1, 2))]), Catalogue())
    assert compiled.paper.components == ()
    assert len(compiled.full.components) == 1


def test_it_lists_what_can_move_a_bound_once() -> None:
    catalogue = Catalogue()
    layers = [*repeated_blocks(2), summary("Reshape"), summary("Loop")]
    groups = [group("cr", (0, 1)), group("cr", (3, 4))]
    compiled = compile_architecture(model(layers, groups=groups), catalogue)
    found = [catalogue.fingerprints[number] for number in compiled.numbers]
    assert sorted(found) == sorted(fingerprint(of) for of in (*BLOCK, "cr"))


def test_a_skipped_layer_keeps_its_reason() -> None:
    compiled = compile_architecture(model([summary("Conv"), summary("Loop")]), Catalogue())
    assert compiled.skipped == ((1, "Loop is not supported"),)


def test_bad_models_are_refused() -> None:
    with pytest.raises(InvalidModelError):
        compile_architecture(model([summary("Conv"), summary("Relu")], [(1, 0)]), Catalogue())


def test_a_view_does_not_say_what_its_layer_costs_elsewhere() -> None:
    catalogue = Catalogue()
    moved = summary("Concat", "a", bytes_moved=7)
    compile_architecture(model([moved]), catalogue)
    compile_architecture(model([summary("Reshape", "a")]), catalogue)
    assert catalogue.bytes[catalogue.number(moved.fingerprint)] == 7
