"""Each layer of a model is in the program that its bound says, whatever measured it."""

from tests.branching_model import branching_model
from tests.runner.cuda.whole_model.measured_program import measured_program
from tests.runner.fake_runtime import FakeRuntime


def test_layers_that_are_left_out_are_in_groups_with_others() -> None:
    whole = measured_program(FakeRuntime(), branching_model(), "fp32")
    titles = {step.layer.title() for step in whole.steps}
    assert len(whole.steps) > 3
    left_out = min(titles - {title for title in titles if "+" in title})
    other = measured_program(FakeRuntime(), branching_model(), "fp32", (left_out,))
    assert left_out not in {step.layer.title() for step in other.steps}
