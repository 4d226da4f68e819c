"""A report in a real browser: Debian's Chromium, driven by Selenium."""

import csv
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from benanza.commands.looking.generation import generation
from benanza.commands.looking.report import report as report_command
from benanza.installation.embedded import opened_log
from benanza.looking.bounds import known_bounds
from benanza.report.content import reported_bounds
from benanza.report.report import compared, report
from benanza.request import BoundPolicy
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_schemas.events import (
    FrameworkCall,
    ModelProfiled,
    RunTimes,
    System,
    event_id,
    identified,
)
from tests.benanza.recorded import recorded_models
from tests.benanza.report.viewing import all_of, drawn, opened

pytestmark = pytest.mark.integration

needs_chromium = pytest.mark.needs_program("chromium", "chromedriver")


def run_of(model_id: str) -> ModelProfiled:
    """A made-up run of the model on the recorded device."""
    system = identified(
        System(
            system_id="0" * 32,
            runtime="made-up",
            accelerator="NVIDIA H200",
            driver="",
            cuda="",
            cudnn="",
            cublas="",
            cpu="",
            threads=1,
            libraries={"made-up": "1.0"},
            method="",
        )
    )
    return ModelProfiled(
        event_id=event_id("ModelProfiled", model_id),
        model_id=model_id,
        system=system,
        configuration="default",
        options={},
        precision="fp16",
        batch=1,
        profiled_at=now(),
        times=RunTimes(900.0, 1.0, (900.0,)),
        times_looked_at=RunTimes(950.0, 1.0, (950.0,)),
        calls=(
            FrameworkCall("convert", "Convert<script>", (), 0.0, 20.0, 0.5),
            FrameworkCall("rest", "Everything", tuple(range(66)), 30.0, 800.0, 2.0),
        ),
    )


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where models have bounds by the recording, and one was run by a framework."""
    settings = recorded_models(tmp_path_factory.mktemp("report") / "data")
    (bound,) = known_bounds(settings, ["squeezenet"], BoundPolicy(("fp16",)), {}, None).bounds
    with opened_log(settings) as log:
        log.append([as_message(run_of(bound.model_id))])
    return settings


@pytest.fixture(scope="module")
def file(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of both models."""
    file = tmp_path_factory.mktemp("page") / "report.html"
    models = ["squeezenet", "alexnet"]
    assert report(settings, models, ["fp16"], {}, 3.5, file) == 2
    return file


@needs_chromium
def test_it_is_drawn_without_a_network_and_without_an_error(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert page.title == "Benanza: squeezenet, alexnet"
    for name in ("timeline", "flame", "roofline", "memory"):
        assert len(all_of(page, f"#figure-{name}-0 .main-svg")) >= 1
        assert all_of(page, f"#figure-{name}-1 .main-svg") == []
    assert len(all_of(page, "#figure-graph-0 .box")) > 10
    page.execute_script("location.hash = 'bound-1'")
    drawn(page)
    assert len(all_of(page, "#figure-graph-1 .box")) > 10
    text = page.find_element("tag name", "body").text
    assert "for a million samples at 3.5 an hour" in text
    assert "squeezenet on NVIDIA H200, fp16, batch 1: at least 98.0 µs (10,2" in text
    assert "made-up takes 900 µs, 9.2 times as long (default)." in text


@needs_chromium
def test_the_time_line_is_moved_by_keys_and_by_the_wheel_once_it_is_chosen(
    browser: Any, file: Path
) -> None:
    page = opened(browser, file)

    def shown(event: str, *, chosen: bool = True) -> list[float]:
        found: list[float] = page.execute_async_script(
            """const [event, chosen, done] = arguments;
            const drawn = document.querySelector("#figure-timeline-0 .drawn");
            if (chosen) drawn.focus(); else drawn.blur();
            const at = { bubbles: true, cancelable: true, clientX: 500 };
            drawn.dispatchEvent(event === "wheel" ? new WheelEvent(event, { ...at, deltaY: -100 })
              : new KeyboardEvent("keydown", { ...at, key: event }));
            setTimeout(() => done(drawn._fullLayout.xaxis.range), 50);""",
            event,
            chosen,
        )
        return found

    everything = shown("wheel", chosen=False)
    nearer = shown("wheel")
    assert everything[0] < nearer[0] < nearer[1] < everything[1]
    later = shown("ArrowRight")
    assert later[0] > nearer[0]
    assert later[1] - later[0] == pytest.approx(nearer[1] - nearer[0])
    page.execute_async_script(
        """const [done] = arguments;
        Plotly.relayout(document.querySelector("#figure-timeline-0 .drawn"), { width: 700 }).then(
          () => done());"""
    )
    widths = [high - low for low, high in (shown("w"), shown("w"))]
    assert widths[1] < widths[0]
    assert shown("0") == everything


@needs_chromium
def test_tables_sort_and_are_searched(browser: Any, file: Path) -> None:
    page = opened(browser, file)

    def times() -> list[float]:
        rows = all_of(page, "#calls-0 + div tbody tr")
        return [float(row.find_elements("css selector", "td")[3].text) for row in rows]

    all_times = times()
    assert all_times == sorted(all_times, reverse=True)
    title = all_of(page, "#calls-0 + div thead th")[3]
    button = title.find_element("tag name", "button")
    page.execute_script("arguments[0].click()", button)
    assert title.get_attribute("aria-sort") == "ascending"
    assert times() == sorted(all_times)
    all_of(page, "#calls-0 + div input")[0].send_keys("softmax")
    assert 1 <= len(times()) < len(all_times)


@needs_chromium
def test_a_box_of_the_graph_is_found_and_leads_to_its_row(browser: Any, file: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page = opened(browser, file)
    all_of(page, "#figure-graph-0 input")[0].send_keys("softmax")
    (hit,) = all_of(page, "#figure-graph-0 .box.hit")
    page.execute_script("arguments[0].focus()", hit)
    assert "1×1000" in page.find_element("id", "tip").text
    hit.send_keys(Keys.ARROW_UP)
    hit = page.switch_to.active_element
    assert "Softmax" not in (hit.get_attribute("aria-label") or "")
    hit.send_keys(Keys.ARROW_DOWN)
    page.switch_to.active_element.send_keys(Keys.ENTER)
    (row,) = all_of(page, "#calls-0 + div tr.found")
    assert "Softmax" in row.text
    (more,) = all_of(page, "#calls-0 + div tr.more")
    assert "algorithm" in more.text

    found = page.execute_script(
        """const place = document.getElementById("figure-graph-0").cloneNode(true);
        document.body.append(place);
        const boxes = ["one", "two", "three"].map((names, call) =>
          ({ call, label: "Conv", us: 1, heat: 1, critical: false, names }));
        const graph = { boxes, arrows: [[0, 1], [1, 2]], skips: [], beside: false,
          blocks: [[0, 1, 3]] };
        place.querySelector("input").value = "";
        drawGraph(place, graph, { rows: [], columns: [] }, () => {});
        const before = place.querySelectorAll(".box").length;
        place.querySelector("input").value = "three";
        place.querySelector("input").dispatchEvent(new Event("input"));
        return [before, place.querySelectorAll(".box.hit").length,
          place.querySelector(".hits").textContent]"""
    )
    assert found == [2, 1, "1 found"]


@needs_chromium
def test_every_node_is_drawn_and_a_call_shows_its_own(browser: Any, file: Path) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    def click(selector: str) -> None:
        page.execute_script(
            """const found = [...document.querySelectorAll(arguments[0])].pop();
            found.dispatchEvent(new MouseEvent("click", { bubbles: true }));""",
            selector,
        )

    def awaited(selector: str, text: str) -> None:
        WebDriverWait(page, 60).until(
            lambda _: any(text in each.text for each in all_of(page, selector))
        )

    page = opened(browser, file)
    calls = len(all_of(page, "#figure-graph-0 .box"))
    click("#figure-graph-0 [data-all]")
    awaited("#figure-graph-0 [data-all]", "Show calls")
    assert len(all_of(page, "#figure-graph-0 .box")) == 66 > calls
    click("#figure-graph-0 .box")
    awaited("#calls-0 + div .about", "Softmax")
    click("#calls-0 + div .about button")
    awaited("#calls-0 + div .about dd:nth-of-type(1)", "GlobalAveragePool")
    awaited("#calls-0 + div h4", "Its 2 nodes")
    click("#calls-0 + div .box[aria-label^=Relu]")
    awaited("#calls-0 + div .about dd:nth-of-type(1)", "Relu")
    click("#figure-graph-0 [data-all]")
    awaited("#figure-graph-0 [data-all]", "Show every node")
    assert len(all_of(page, "#figure-graph-0 .box")) == calls
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []


@needs_chromium
def test_saved_tables_have_all_columns_and_rows(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    # What is saved is what this gives; a name may have commas and quotes.
    saved = page.execute_script(
        """return csv({columns: [{title: "a"}, {title: "b"}],
          rows: [["x, \\"y\\"", null], ["z", 0.5]]})"""
    )
    assert list(csv.reader(saved.splitlines())) == [["a", "b"], ['x, "y"', ""], ["z", "0.5"]]
    name, text = page.execute_script(
        """const kept = save;
        let saved;
        save = (name, type, text) => { saved = [name, text]; };
        saveShown(document.querySelector(".ladder"));
        save = kept;
        return saved"""
    )
    assert name.startswith("squeezenet-batch-1-fp16-")
    head, run, *_ = csv.reader(text.splitlines())
    assert head == ["step", "µs"]
    assert run == ["made-up 1.0, default", "900.0"]


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_light_and_dark_pages(browser: Any, file: Path, scheme: str) -> None:
    page = opened(browser, file, scheme=scheme)

    def contrast(selector: str, of: str = "color") -> float:
        """Of the text against the page, as WCAG 2.2 defines it."""
        colours = page.execute_script(
            """const [selector, of] = arguments;
            return [getComputedStyle(document.querySelector(selector))[of],
              getComputedStyle(document.body).backgroundColor]""",
            selector,
            of,
        )
        light, dark = sorted(map(luminance, colours), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    for selector in ("h1", ".answer", ".made", ".parts a", "th", "td", "figcaption p", "dt"):
        assert contrast(selector) >= 4.5, selector
    for selector in (".legendtext", ".xtick text"):
        assert contrast(selector, "fill") >= 4.5, selector


def luminance(colour: str) -> float:
    """The relative luminance of a colour of CSS, `rgb(…)`, as WCAG 2.2 defines it."""
    parts = [float(each) / 255 for each in colour.strip("rgba()").split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@needs_chromium
@pytest.mark.parametrize("media", ["screen", "print"])
def test_it_fits_a_telephone_and_paper(browser: Any, file: Path, media: str) -> None:
    width = 375 if media == "screen" else 700
    page = opened(browser, file, width=width, media=media)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    if media == "print":
        assert not any(button.is_displayed() for button in all_of(page, ".buttons button"))
        page.execute_script("dispatchEvent(new Event('beforeprint'))")
        (figure, *_) = all_of(page, "#figure-timeline-0 .main-svg")
        assert figure.get_attribute("width") == "660"
        assert all_of(page, "#calls-0 + div thead th")[1].text == "operators"


@needs_chromium
def test_nothing_of_a_model_is_taken_for_html(browser: Any, file: Path) -> None:
    text = file.read_text("utf-8")
    assert "Convert&lt;script&gt;" in text
    assert "Convert<script>" not in text
    page = opened(browser, file)
    page.execute_script("location.hash = 'bound-0'")
    drawn(page)
    libraries = 2
    assert len(all_of(page, "script")) == text.count("<script") + libraries


def test_it_is_small_and_reads_nothing_from_elsewhere(file: Path) -> None:
    text = file.read_text("utf-8")
    assert len(text) < 2.5e6
    assert "<link" not in text
    assert 'src="http' not in text


@pytest.mark.parametrize(
    ("command", "option"), [(report_command, "--price-per-hour"), (generation, "--price")]
)
def test_a_price_is_finite(command: click.Command, option: str) -> None:
    for price in ("inf", "nan"):
        done = CliRunner().invoke(command, ["model", option, price])
        assert done.exit_code == 2
        assert "is no finite number" in done.output


def test_without_a_bound_there_is_no_report(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="nothing is known of zoo:vgg19"):
        report(settings, ["zoo:vgg19"], ["fp16"], {}, None, tmp_path / "r.html")
    with pytest.raises(BenanzaError, match="can't write"):
        report(settings, ["alexnet"], ["fp16"], {}, None, tmp_path / "no" / "r.html")


@needs_chromium
def test_two_bounds_are_compared(browser: Any, settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "difference.html"
    models = ["squeezenet", "alexnet"]
    assert report(settings, models, ["fp16"], {}, None, out, difference=True) == 2
    page = opened(browser, out)
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert (
        "The second takes 28.5 µs (29%) more; by kinds of calls, most by matrix product (+"
        in page.find_element("tag name", "body").text
    )
    assert len(all_of(page, "#figure-timeline .main-svg")) >= 1
    kinds = [row.text for row in all_of(page, "#kinds + div tbody tr")]
    assert any(row.startswith("convolution 2") for row in kinds)


def test_only_two_bounds_of_one_batch_size_are_compared(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="compares two bounds, not 1: alexnet, batch 1"):
        report(settings, ["alexnet"], ["fp16"], {}, None, tmp_path / "r.html", difference=True)
    assert not (tmp_path / "r.html").exists()
    (one,) = reported_bounds(settings, ["alexnet"], ["fp16"], {})
    with pytest.raises(BenanzaError, match="of one batch size, not 1 and 8"):
        compared([one, one._replace(bound=replace(one.bound, batch=8))])
