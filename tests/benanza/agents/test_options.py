"""What of an event becomes the request of an evaluation."""

import msgspec
import pytest

from benanza.agents.options import request_of
from benanza_backbone.errors import BenanzaError
from tests.benanza.agents.samples import requested, system


@pytest.mark.parametrize("name", ["model", "framework", "precision", "scenario", "dims", "colour"])
def test_an_option_is_no_other_field_of_the_event(name: str) -> None:
    """A model that an option named would be read from wherever that is."""
    options = {name: '"http://169.254.169.254/m.onnx"'}
    with pytest.raises(BenanzaError, match=f"knows no {name}"):
        request_of(msgspec.structs.replace(requested(system()), options=options), "m.onnx")
