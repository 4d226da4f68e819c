"""The zoo's decoders."""

import pytest

from benanza_ingest.decoders.forms import BLOCKS, decoder_names, sizes_for_tables
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX
from benanza_schemas.vocabulary import STATE_AS_WRITTEN

FEWEST = 26
"""Decoders, each as a step and as a prefill."""

STATES_ALONE = "decoder:mamba2-2.7b-step"
"""It keeps no keys, and has no prefill."""

BEHIND_ENCODERS = ("decoder:whisper", "decoder:flan-t5")

OF_KEYS = ("GroupQueryAttention", "Attention")
ATTENTIONS = (*OF_KEYS, "LinearAttention")

LARGEST_BYTES = 60_000


def test_each_decoder_has_a_step_and_a_prefill() -> None:
    names = [name for name in decoder_names() if name != STATES_ALONE]
    steps = {name.removesuffix("-step") for name in names if name.endswith("-step")}
    prefills = {name.removesuffix("-prefill") for name in names if name.endswith("-prefill")}
    assert steps == prefills
    assert len(steps) * 2 == len(names)
    assert len([name for name in steps if not name.endswith("-int4")]) >= FEWEST
    assert steps >= {name.removesuffix("-int4") for name in steps}


@pytest.mark.parametrize("name", decoder_names())
def test_each_is_small_and_ingested_with_all_its_layers(name: str) -> None:
    found = fetch(PREFIX + name, Limits())
    assert found == fetch(PREFIX + name, Limits(), found.sha256)
    assert (found.name, found.uri) == (name, PREFIX + name)
    assert len(found.content) < LARGEST_BYTES
    model = extract(found.content, batch=2, dims=sizes_for_tables(name))
    assert [each.reason for each in model.layers if each.layer is None] == []
    attentions = [each for each in model.layers if each.op in ATTENTIONS]
    of_a_block = 2 if name.startswith(BEHIND_ENCODERS) else int(name != STATES_ALONE)
    assert len(attentions) == BLOCKS * of_a_block


def test_three_of_a_hybrids_four_blocks_have_linear_attention() -> None:
    content = fetch(f"{PREFIX}decoder:qwen3-next-80b-a3b-step", Limits()).content
    layers = extract(content, dims={"past": 1023}).layers
    attentions = [each.op for each in layers if each.op in ATTENTIONS]
    assert attentions == ["LinearAttention"] * 3 + ["GroupQueryAttention"]


def test_the_step_of_a_state_space_model_has_no_past() -> None:
    content = fetch(PREFIX + STATES_ALONE, Limits()).content
    with pytest.raises(ModelError, match="no open dimension 'past'; it has 'batch'"):
        extract(content, dims={"past": 1023})


STEPS = [name for name in decoder_names() if name.endswith("-step") and name != STATES_ALONE]


@pytest.mark.parametrize("name", STEPS)
def test_the_past_alone_says_how_much_a_step_reads(name: str) -> None:
    sizes = sizes_for_tables(name)
    content = fetch(PREFIX + name, Limits()).content
    moved = []
    for past in (1023, 2047):
        model = extract(content, dims=sizes | {"past": past})
        in_place = [each for each in model.groups if each.rule == STATE_AS_WRITTEN]
        of_keys = [each for each in model.layers if each.op in OF_KEYS]
        assert len(in_place) >= len(of_keys) > 0
        moved.append(sum(each.bytes for each in model.layers))
    assert moved[1] > moved[0]


@pytest.mark.parametrize("name", ["gemma-3-1b-step", "gpt-oss-20b-step"])
def test_some_blocks_have_windows_and_the_last_has_none(name: str) -> None:
    content = fetch(f"{PREFIX}decoder:{name}", Limits()).content
    model = extract(content, dims=sizes_for_tables(f"decoder:{name}"))
    windows = [
        each.layer.operators[0].integer("local_window_size")
        for each in model.layers
        if each.layer is not None and each.op == "GroupQueryAttention"
    ]
    assert windows[-1] == -1
    assert max(windows) > 0
