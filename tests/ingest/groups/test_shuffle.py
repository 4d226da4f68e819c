"""A Reshape, a Transpose and a Reshape are a group where they shuffle an image's channels."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.groups.shuffle import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import extracted as real

TITLE = "Reshape+Transpose+Reshape"
HEAD = (
    "g (float[{image}] x) => ({out}) <int64[{axes}] table = {{{table}}},"
    " int64[{rank}] whole = {{{whole}}}, int64[1] flat = {{-1}}> {{ {body} }}"
)
BODY = "a = Reshape(x, table) b = Transpose<perm = [{perm}]>(a) y = Reshape(b, whole)"


def titles(model: ExtractedModel) -> list[str]:
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return [group.layer.title() for group in found]


def shuffles(
    image: str = "2,6,4,4",
    table: str = "2,3,2,4,4",
    perm: str = "0,2,1,3,4",
    whole: str = "2,6,4,4",
    body: str = BODY,
    out: str = "y",
) -> list[str]:
    axes, rank = (text.count(",") + 1 for text in (table, whole))
    return titles(
        extracted(
            HEAD.format(
                image=image,
                table=table,
                whole=whole,
                axes=axes,
                rank=rank,
                out=out,
                body=body.format(perm=perm),
            )
        )
    )


def test_channels_of_images_of_any_number_of_axes() -> None:
    assert shuffles() == [TITLE]
    assert shuffles("2,6,5", "2,3,2,5", "0,2,1,3", "2,6,5") == [TITLE]
    assert shuffles("1,6,4,4,4", "1,2,3,4,4,4", "0,2,1,3,4,5", "1,6,4,4,4") == [TITLE]


@pytest.mark.parametrize(
    "other",
    [
        {"perm": "0,1,2,4,3"},  # axes of space
        {"perm": "0,1,2,3,4"},
        {"perm": "2,0,1,3,4"},
        {"table": "2,3,4,2,4"},  # channels with an axis of space
        {"table": "6,2,1,4,4"},  # another batch
        {"whole": "2,6,16"},
        {"whole": "2,6,2,8"},
        {"image": "2,6", "table": "2,3,2", "perm": "0,2,1", "whole": "2,6"},  # no image
        {"out": "y, a"},  # returned as well
        {"body": BODY + " z = Relu(b)", "out": "y, z"},  # read by another
        {"body": "a = Reshape(x, table) b = Relu(a) y = Reshape(b, whole)"},
        {"body": "a = Reshape(x, flat) b = Transpose(a) y = Reshape(b, whole)"},
    ],
)
def test_what_is_no_such_group(other: dict[str, str]) -> None:
    assert shuffles(**other) == []


def test_shufflenet_shuffles_after_each_first_convolution_in_groups() -> None:
    assert titles(real("torchvision-shufflenet_v2_x1_0")) == [TITLE] * 16
