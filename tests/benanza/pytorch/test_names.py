"""Which models a text of names and sets stands for."""

import pytest

from benanza.pytorch.configured import CONFIGURED
from benanza.pytorch.names import ALL, PACKAGES, SETS, Name, parsed, resolved


def test_a_plain_name_is_one_of_torchvisions() -> None:
    assert parsed("resnet50") == parsed("torchvision:resnet50") == Name("torchvision", "resnet50")
    assert parsed("timm:levit_192") == Name("timm", "levit_192")
    assert resolved("torchvision:resnet50,resnet50,timm:levit_192") == [
        "resnet50",
        "timm:levit_192",
    ]


def test_a_set_stands_for_its_members() -> None:
    assert resolved("all") == list(ALL)
    assert resolved("transformers,transformers:bert-small") == list(SETS["transformers"])
    assert resolved("diffusers,resnet50") == [*SETS["diffusers"], "resnet50"]


def test_all_are_many_and_each_is_there_once() -> None:
    assert len(ALL) >= 45
    assert len(set(ALL)) == len(ALL)
    assert set(CONFIGURED) <= set(ALL)
    assert {parsed(name).package for name in ALL} == set(PACKAGES)


def test_parts_share_the_models_out() -> None:
    parts = [resolved("all", f"{which}/3") for which in (1, 2, 3)]
    assert sorted(name for part in parts for name in part) == sorted(ALL)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        ("keras:resnet50", "1/1", "no package 'keras'"),
        ("transformers:nothing", "1/1", "no configuration here; these have: .*llama-small"),
        ("all", "3/2", "no part"),
        ("all", "0/2", "no part"),
        ("all", "2", "no part"),
    ],
)
def test_what_names_nothing_is_refused(text: str, part: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        resolved(text, part)


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_configured_model_takes_inputs_that_it_has_words_for(name: str) -> None:
    described = CONFIGURED[name]
    assert described.inputs
    for each in described.inputs:
        if each.argument.endswith("input_ids"):
            assert 0 < each.below <= described.sizes.get("vocab_size", 51_865)
