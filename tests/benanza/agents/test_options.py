"""What of an event becomes the request of an evaluation."""

import msgspec
import pytest

from benanza.agents.options import options_of, request_of
from benanza.evaluating.request import EvaluationRequest
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import EvaluationRequested
from tests.benanza.agents.samples import requested, system


def with_options(**options: str) -> EvaluationRequested:
    return msgspec.structs.replace(requested(system()), options=options)


def test_options_are_those_that_were_asked_for() -> None:
    asked = EvaluationRequest(model="m.onnx", max_batch=3, limit_us=5.0)
    assert request_of(with_options(**options_of(asked)), "m.onnx") == asked


@pytest.mark.parametrize("name", ["model", "framework", "precision", "scenario", "dims", "colour"])
def test_an_option_is_no_other_field_of_the_event(name: str) -> None:
    """A model that an option named would be read from wherever that is."""
    with pytest.raises(BenanzaError, match=f"knows no {name}"):
        request_of(with_options(**{name: '"http://169.254.169.254/m.onnx"'}), "m.onnx")


def test_options_that_cannot_be_read_say_so() -> None:
    with pytest.raises(BenanzaError, match="its options can't be read"):
        request_of(with_options(max_batch='"many"'), "m.onnx")
