"""A browser for pages: Debian's Chromium, driven by Selenium."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """The browser without a window, with its profile in this folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in (
        *("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"),
        f"user-data-dir={profile}",
    ):
        options.add_argument(f"--{argument}")
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def shown(
    driver: Any, file: Path, *, width: int, scheme: str = "light", media: str = "screen"
) -> Any:
    """The driver with the file in a window of this width, without a network."""
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
    driver.get(file.as_uri())
    return driver


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver
