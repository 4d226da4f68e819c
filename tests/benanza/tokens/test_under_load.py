"""Which dimension says how long something is."""

import pytest

from benanza.tokens.swept import UnsweptError
from benanza.tokens.under_load import OF_PAST, OF_PROMPT, _of_one, length_named
from benanza_backbone.errors import BenanzaError


def test_a_prompt_that_lacks_a_source_of_times_is_told_which() -> None:
    with pytest.raises(UnsweptError, match=r"no run by a framework that `benanza profile` stored"):
        _of_one(None, "measured")
    with pytest.raises(UnsweptError, match="no bound at batch size 1"):
        _of_one({8: {512: 1.0}}, "bound")


def test_how_long_a_prompt_is_no_dimension_of_its_past_says() -> None:
    dims = {"batch_size": 1, "past_sequence_length": 0, "sequence_length": 512}
    assert length_named(dims, OF_PROMPT, "prefill") == 512
    assert length_named(dims, OF_PAST, "prefill") == 0
    with pytest.raises(BenanzaError, match="named after sequence or length or token"):
        length_named({"past_sequence_length": 9}, OF_PROMPT, "step")
