"""Which dimension says how long something is."""

import pytest

from benanza.tokens.under_load import OF_PAST, OF_PROMPT, length_named
from benanza_backbone.errors import BenanzaError


def test_how_long_a_prompt_is_no_dimension_of_its_past_says() -> None:
    dims = {"batch_size": 1, "past_sequence_length": 0, "sequence_length": 512}
    assert length_named(dims, OF_PROMPT, "prefill") == 512
    assert length_named(dims, OF_PAST, "prefill") == 0
    with pytest.raises(BenanzaError, match="named after sequence or length or token"):
        length_named({"past_sequence_length": 9}, OF_PROMPT, "step")
