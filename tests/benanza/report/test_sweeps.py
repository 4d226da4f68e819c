"""The figures of a decoder's sweep, drawn from bounds on this CPU."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benanza.installation.embedded import opened_log
from benanza.report.content import ReportedBound, reported_bounds
from benanza.report.page import page
from benanza.report.sweeps import Sweep, figures_of, sweeps_of
from benanza_backbone.clickhouse.bounds import States
from benanza_backbone.service.processor import as_message
from benanza_runner.cpu import available_cores
from benanza_schemas.events import RunTimes, event_id, identified
from tests.benanza.conftest import FirstRun
from tests.benanza.report.test_report import needs_chromium, run_of
from tests.benanza.report.viewing import all_of, opened
from tests.benanza.tokens.small_step import swept_step

pytestmark = pytest.mark.integration

BATCHES, PASTS = (1, 2), (64, 1024)
RUN_US = 50_000.0


@pytest.fixture(scope="module")
def bounds(first_run: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> list[ReportedBound]:
    """Those of the step, which a made-up framework ran at one of the sizes."""
    settings, found = swept_step(first_run[0], tmp_path_factory.mktemp("sweeps"), BATCHES, PASTS)
    bound = found.bounds[-1]
    run = run_of(bound.model_id)
    system = identified(
        replace(run.system, accelerator="", cpu=bound.system, threads=available_cores())
    )
    times = RunTimes(RUN_US, 1.0, (RUN_US,))
    here = {"system": system, "precision": "fp32", "batch": bound.batch, "calls": ()}
    event = replace(run, event_id=event_id("a run here"), times=times, **here)
    with opened_log(settings) as log:
        log.append([as_message(event)])
    return reported_bounds(settings, ["step"], ["fp32"], {})


def drawn(bounds: Sequence[ReportedBound]) -> dict[str, list[tuple[str, str, list[float]]]]:
    """By the figure's name: name, mode and heights of what is drawn that has points."""
    (sweep,) = sweeps_of(bounds)
    return {
        name: [(each.name, each.mode, list(each.y)) for each in figure.data if each.y]
        for name, _, figure in figures_of(sweep)
    }


def test_time_for_each_token_has_a_line_for_each_number_of_sequences(
    bounds: list[ReportedBound],
) -> None:
    *lines, run = drawn(bounds)["length"]
    by_size = {(r.bound.batch, r.bound.dims["past_sequence_length"]): r.bound for r in bounds}
    for batch, (name, _, times) in zip(BATCHES, lines, strict=True):
        assert name == ("1 sequence" if batch == 1 else "2 sequences")
        assert times == [by_size[batch, past].sequential_us for past in PASTS]
    assert run == ("2 sequences", "markers", [RUN_US])


def test_bounds_of_one_model_are_in_the_order_of_their_sizes(bounds: list[ReportedBound]) -> None:
    sizes = [(r.bound.batch, r.bound.dims["past_sequence_length"]) for r in bounds]
    assert sizes == [(batch, past) for batch in BATCHES for past in PASTS]


def test_throughput_has_a_line_for_each_length(bounds: list[ReportedBound]) -> None:
    *lines, run = drawn(bounds)["throughput"]
    assert [name for name, *_ in lines] == [f"past_sequence_length {past:,}" for past in PASTS]
    assert all(len(rates) == len(BATCHES) for *_, rates in lines)
    assert run[1] == "markers"
    assert run[2] == pytest.approx([2e6 / RUN_US])


def test_attainable_estimates_are_dashed(bounds: list[ReportedBound]) -> None:
    estimated = [r._replace(bound=replace(r.bound, attainable_us=1e4)) for r in bounds]
    (sweep,) = sweeps_of(estimated)
    for _, _, figure in figures_of(sweep):
        dashed = [each for each in figure.data if each.line.dash == "dash"]
        assert len(dashed) == len([each for each in figure.data if each.showlegend is None])
        assert all(each.y for each in dashed)


def test_what_reads_whole_prompts_gives_no_tokens(bounds: list[ReportedBound]) -> None:
    prompts = []
    for reported in bounds:
        size = reported.bound.dims["past_sequence_length"]
        bound = replace(reported.bound, dims={"sequence_length": size})
        prompts.append(reported._replace(bound=bound))
    (sweep,) = sweeps_of(prompts)
    assert [title.partition(";")[0] for _, title, _ in figures_of(sweep)] == [
        "Time for each run by sequence_length",
        "Sequences a second by the time for each run",
    ]
    for _, _, figure in figures_of(sweep):
        assert "token" not in figure.to_json()


def test_where_sizes_are_the_same_there_is_no_figure(bounds: list[ReportedBound]) -> None:
    def figures(some: Sequence[ReportedBound]) -> list[str]:
        return [name for sweep in sweeps_of(some) for name, *_ in figures_of(sweep)]

    of_one_batch = [reported for reported in bounds if reported.bound.batch == 1]
    of_one_past = [r for r in bounds if r.bound.dims["past_sequence_length"] == PASTS[0]]
    assert figures(of_one_batch) == ["length"]
    assert figures(of_one_past) == ["throughput"]
    assert figures(bounds[:1]) == []


def test_a_name_of_a_dimension_is_no_markup_of_plotly(bounds: list[ReportedBound]) -> None:
    (sweep,) = sweeps_of(bounds)
    name = '<a href="https://example.com">past</a>'
    for _, _, figure in figures_of(sweep._replace(dimension=name)):
        assert "<a" not in figure.to_json().replace("\\u003c", "<")


def test_other_models_and_partial_bounds_have_none(bounds: list[ReportedBound]) -> None:
    none = States(in_place=0, copied=0, why_copied=())
    assert sweeps_of([r._replace(bound=replace(r.bound, states=none)) for r in bounds]) == []
    assert sweeps_of([r._replace(bound=replace(r.bound, partial=True)) for r in bounds]) == []


def test_files_of_one_name_are_apart(bounds: list[ReportedBound]) -> None:
    other = [reported._replace(file="f" * 64) for reported in bounds]
    sweeps: list[Sweep] = sweeps_of([*bounds, *other])
    assert [len(sweep.points) for sweep in sweeps] == [len(BATCHES) * len(PASTS)] * 2


def test_the_page_has_them_before_the_bounds(bounds: list[ReportedBound], tmp_path: Path) -> None:
    text = page(bounds, None)
    places = [text.index(f'id="figure-{name}"') for name in ("length-0", "throughput-0")]
    assert sorted(places) == places
    assert places[-1] < text.index('id="bound-0"')


@needs_chromium
@pytest.mark.parametrize("width", [375, 1400])
def test_a_browser_draws_them(
    browser: Any, bounds: list[ReportedBound], tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(page(bounds, None), "utf-8")
    shown = opened(browser, file, width=width)
    assert [entry for entry in shown.get_log("browser") if entry["level"] == "SEVERE"] == []
    for name, lines in (("length", len(BATCHES)), ("throughput", len(PASTS))):
        # A line that runs add points to has two traces of points.
        assert len(all_of(shown, f"#figure-{name}-0 .scatterlayer .js-line")) >= lines
        assert len(all_of(shown, f"#figure-{name}-0 .legend .traces")) == lines
    assert shown.execute_script("return document.documentElement.scrollWidth") <= width
