"""Specifications as files: what is written is read again, what is wrong is named by its line."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from benanza.pipelines.images.steps import (
    Cast,
    CentreCrop,
    Decode,
    Layout,
    Normalise,
    Resize,
    Step,
    StepError,
    check_steps,
)
from benanza.pipelines.reading import pipeline_text, read_pipeline, write_pipeline
from benanza.pipelines.specification import PipelineSpecification
from benanza_backbone.errors import BenanzaError


def test_what_is_written_is_read_again(recorded: PipelineSpecification, tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(pipeline_text(recorded), encoding="utf-8")
    assert read_pipeline(file) == recorded


def test_a_value_of_a_small_input_may_be_zero(
    specified: PipelineSpecification, tmp_path: Path
) -> None:
    """As `benanza pipeline --value training=0` writes it."""
    model = msgspec.structs.replace(specified.model, dims={"training": 0, "height": 32})
    file = tmp_path / "pipeline.toml"
    write_pipeline(msgspec.structs.replace(specified, model=model), file)
    assert read_pipeline(file).model == model


def _without(key: str) -> Callable[[str], str]:
    return lambda text: re.sub(rf"^{key} = .*\n", "", text, count=1, flags=re.MULTILINE)


def _with(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new, 1)


WRONG = {
    "a misspelt value": (
        _with('colours = "RGB"', 'colours = "rgb"'),
        ('colours = "rgb"', "steps[1].colours: Invalid enum value 'rgb'; it may be RGB, BGR, grey"),
    ),
    "a misspelt key": (
        _with("antialias = ", "antialais = "),
        ("antialais = ", "steps[2].antialais: Object contains unknown field `antialais`"),
    ),
    "a misspelt step": (
        _with('step = "centre-crop"', 'step = "crop"'),
        (
            'step = "crop"',
            "steps[3].step: Invalid value 'crop'; there are decode, resize, centre-crop",
        ),
    ),
    "a missing key": (
        _without("sha256"),
        ("[model]", "model: Object missing required field `sha256`"),
    ),
    "a wrong type": (
        _with("batch = 7", 'batch = "7"'),
        ('batch = "7"', "framework.batch: Expected `int`, got `str`"),
    ),
    "no end": (
        lambda text: text + '\n[scenario]\nname = "server"\nduration_s = inf\n',
        ("duration_s = inf", "scenario.duration_s: Expected `float` <= 86400.0"),
    ),
    "requests beyond all memory": (
        lambda text: text + '\n[scenario]\nname = "server"\nrate_per_s = 1e12\n',
        ("rate_per_s = 1e12", "scenario.rate_per_s: Expected `float` <= 1000000.0"),
    ),
    "a batch beyond all memory": (
        _with("batch = 7", "batch = 1_025"),
        ("batch = 1_025", "framework.batch: Expected `int` <= 1024"),
    ),
    "a wrong metric": (_with('"top-5"', '"mean"'), ("metrics = [", "metrics[2]: Expected `str`")),
    "a wrong version": (
        _with("version = 1", "version = 2"),
        ("version = 2", "version: version is 2, and this Benanza reads 1"),
    ),
    "another's interpolation": (
        _with("antialias = true", "antialias = false"),
        ('interpolation = "linear"', "pillow has linear with corners half_pixel, antialias true"),
    ),
    "no numbers": (
        _with("mean = 0.5", "mean = []"),
        ("mean = []", "steps[5].mean: Expected `array` of length >= 1"),
    ),
    "both sizes": (
        _with("shorter = 36", "shorter = 36\nsize = [32, 32]"),
        ("size = [32, 32]", "steps[2].size: give one of size and shorter"),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_by_line_and_key(
    what: str, specified: PipelineSpecification, tmp_path: Path
) -> None:
    change, said = WRONG[what]
    text = change(pipeline_text(specified))
    file = tmp_path / "pipeline.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BenanzaError) as raised:
        read_pipeline(file)
    on_line, reason = said
    line = next(n for n, each in enumerate(text.splitlines(), 1) if each.startswith(on_line))
    assert str(raised.value).startswith(f"{file}, line {line}: ")
    assert reason in str(raised.value)


def test_a_line_that_is_lost_or_twice_there_is_no_defect(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    file = tmp_path / "pipeline.toml"
    lines = pipeline_text(recorded).splitlines(keepends=True)
    said = []
    for number, line in enumerate(lines):
        instead = ("", line + line, line.replace('"', ""))[number % 3]
        file.write_text("".join((*lines[:number], instead, *lines[number + 1 :])))
        try:
            read_pipeline(file)
        except BenanzaError as error:
            said.append(str(error))
    assert len(said) > len(lines) / 3
    assert not any("\n" in each for each in said)


def test_steps_may_be_tables_on_lines_of_an_array(
    specified: PipelineSpecification, tmp_path: Path
) -> None:
    head, _, rest = pipeline_text(specified).partition("[[steps]]")
    output = rest[rest.index("[output]") :]
    steps = (
        "steps = [\n"
        '  { step = "decode", library = "pillow", colours = "RGB" },\n'
        '  { step = "layout", to = "CHW" },\n'
        "]\n"
    )
    file = tmp_path / "pipeline.toml"
    text = steps + head + output
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BenanzaError, match=r"line 3: steps\[2\].to: Invalid enum value 'CHW'"):
        read_pipeline(file)
    file.write_text(text.replace('"CHW"', '"NCHW"'), encoding="utf-8")
    assert read_pipeline(file).steps[1] == Layout(to="NCHW")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version = ", "is no TOML: Invalid value"),
        (b"\xff", "can't be read"),
        (b"", "version is None, and this Benanza reads 1"),
        (b"version = 1\nsteps = " + b"[" * 100_000, "is no TOML"),
    ],
)
def test_what_is_no_specification_is_said_in_a_line(
    content: bytes, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_bytes(content)
    with pytest.raises(BenanzaError, match=said) as raised:
        read_pipeline(file)
    assert "\n" not in str(raised.value)
    with pytest.raises(BenanzaError, match="can't be read"):
        read_pipeline(tmp_path / "none.toml")


DECODE = Decode(library="pillow", colours="RGB")
RESIZE = Resize(
    library="opencv", interpolation="area", corners="half_pixel", antialias=True, size=(8, 8)
)


@pytest.mark.parametrize(
    ("steps", "position", "said"),
    [
        ((), 0, "the first step has to be"),
        ((RESIZE,), 0, "the first step has to be"),
        ((DECODE, DECODE), 1, "decoded once"),
        ((Decode(library="opencv", colours="RGB", jpeg="fast"),), 0, "opencv has no fast JPEG"),
        ((DECODE, Cast(to="float32"), RESIZE), 2, "resize takes uint8, and gets float32"),
        ((DECODE, Layout(to="NCHW"), CentreCrop(size=(8, 8))), 2, "put centre-crop before layout"),
        ((DECODE, Layout(to="NCHW"), Layout(to="NHWC")), 2, "lay an image out once"),
        ((DECODE, Normalise(std=(1.0, 0.0, 1.0))), 1, "std can't be 0"),
        ((DECODE, Normalise(std=1e-50)), 1, "std can't be 0 in float32"),
        ((DECODE, Normalise(scale=float("inf"))), 1, "scale has to be finite"),
        ((DECODE, Normalise(mean=(0.0, float("nan")))), 1, "mean has to be finite"),
        ((DECODE, Normalise(std=1e39)), 1, "std has to be finite in float32"),
    ],
)
def test_steps_that_can_t_run_where_they_stand(
    steps: tuple[Step, ...], position: int, said: str
) -> None:
    with pytest.raises(StepError, match=said) as raised:
        check_steps(steps)
    assert raised.value.position == position
