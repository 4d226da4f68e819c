"""The walk's parts, with the environment that is installed already."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import block, blocks
from tests.docs.walk.clone import FreshClone
from tests.docs.walk.deployment import deployment
from tests.docs.walk.first_bounds import TUTORIAL, tutorial
from tests.docs.walk.services import LOOK, PAGE


@pytest.fixture
def clone(tmp_path: Path) -> FreshClone:
    return FreshClone(tmp_path, installed=True)


def test_each_block_of_the_tutorial_has_one_command() -> None:
    shown = blocks(TUTORIAL, "console")
    assert len(shown) >= 7
    for each in shown:
        assert re.findall(r"^\$ ", each, re.MULTILINE) == ["$ "]
        assert each.startswith("$ benanza ")


def test_the_services_start_in_ten_lines() -> None:
    assert len([*block(PAGE, "make kafka").splitlines(), LOOK]) <= 10


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tutorials_commands_print_what_stands_below_them(clone: FreshClone) -> None:
    tutorial(clone)


@pytest.mark.integration
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.needs_program("prometheus")
@pytest.mark.usefixtures("broker_can_start")
def test_the_services_do_what_the_pages_say(clone: FreshClone) -> None:
    deployment(clone)
