"""A report in a real browser: Debian's Chromium, driven by Selenium."""

from pathlib import Path
from typing import Any

import pytest

from benanza.installation.embedded import opened_log
from benanza.looking.bounds import known_bounds
from benanza.report.report import report
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

pytestmark = pytest.mark.integration

RECORDING = Path(__file__).parents[3] / "recordings" / "nvidia-h200.xz"

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


def opened(
    browser: Any, file: Path, *, width: int = 1100, scheme: str = "light", media: str = ""
) -> Any:
    """The page in a window of this width, once its tables are drawn."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
    browser.get(file.as_uri())
    WebDriverWait(browser, 30).until(
        lambda page: len(page.find_elements(By.CSS_SELECTOR, "table.dataTable tbody tr")) > 10
    )
    return browser


def all_of(page: Any, selector: str) -> list[Any]:
    from selenium.webdriver.common.by import By

    found: list[Any] = page.find_elements(By.CSS_SELECTOR, selector)
    return found


@needs_chromium
def test_it_is_drawn_without_a_network_and_without_an_error(browser: Any, file: Path) -> None:
    page = opened(browser, file)
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert len(all_of(page, "figure .main-svg")) >= 1 + 2 * 4
    assert page.title == "Benanza: alexnet, squeezenet"
    names = [each.get_attribute("id") for each in all_of(page, "figure")]
    assert names[0] == "figure-overview"
    assert {"figure-ladder-0", "figure-timeline-0", "figure-roofline-1", "figure-graph-1"} <= set(
        names
    )
    text = page.find_element("tag name", "body").text
    assert "for a million samples at 3.5 an hour" in text
    assert "NVIDIA H200" in text
    assert "made-up, default" in text


@needs_chromium
def test_tables_sort(browser: Any, file: Path) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    page = opened(browser, file)
    table = next(each for each in all_of(page, "table.dataTable") if "conversion µs" in each.text)
    titles = [each.text.strip() for each in table.find_elements("css selector", "thead th")]
    place = titles.index("µs")

    def times() -> list[float]:
        rows = table.find_elements("css selector", "tbody tr")
        cells = (row.find_elements("css selector", "td")[place].text for row in rows)
        return [float(cell) for cell in cells]

    def sort(order: str) -> None:
        title = table.find_elements("css selector", "thead th")[place]
        page.execute_script("arguments[0].scrollIntoView({block: 'center'})", title)
        title.find_element("css selector", ".dt-column-order").click()
        WebDriverWait(page, 10).until(lambda _: title.get_attribute("aria-sort") == order)

    sort("ascending")
    assert times() == sorted(times())
    sort("descending")
    assert times() == sorted(times(), reverse=True)


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_light_and_dark_pages(browser: Any, file: Path, scheme: str) -> None:
    page = opened(browser, file, scheme=scheme)

    def brightness(selector: str) -> float:
        """Of the text, from 0 to 255."""
        colour = page.execute_script(
            "return getComputedStyle(document.querySelector(arguments[0])).color", selector
        )
        parts = [float(each) for each in colour.strip("rgba()").split(",")[:3]]
        return sum(parts) / 3

    dark = scheme == "dark"
    assert (brightness("h1") > 128) == dark
    assert (brightness("table.dataTable tbody td") > 128) == dark
    has_class = page.execute_script("return document.documentElement.classList.contains('dark')")
    assert has_class == dark


@needs_chromium
@pytest.mark.parametrize("media", ["", "print"])
def test_it_fits_a_telephone_and_paper(browser: Any, file: Path, media: str) -> None:
    page = opened(browser, file, width=375 if not media else 700, media=media)
    wide = page.execute_script("return document.documentElement.scrollWidth")
    assert wide <= (375 if not media else 700)
    if media:
        assert not any(button.is_displayed() for button in all_of(page, "figure button"))


def test_nothing_of_a_model_is_taken_for_html(file: Path) -> None:
    assert "Convert<script>" not in file.read_text("utf-8")


def test_it_reads_nothing_from_elsewhere(file: Path) -> None:
    text = file.read_text("utf-8")
    assert "<link" not in text
    assert 'src="http' not in text


def test_without_a_bound_there_is_no_report(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="nothing is known of zoo:vgg19"):
        report(settings, ["zoo:vgg19"], ["fp16"], {}, None, tmp_path / "r.html")
    with pytest.raises(BenanzaError, match="can't write"):
        report(settings, ["alexnet"], ["fp16"], {}, None, tmp_path / "no" / "r.html")
