"""A browser for pages: Debian's Chromium, driven by Selenium."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    profile = tmp_path_factory.mktemp("chromium")
    for argument in ("headless=new", "no-sandbox", "disable-gpu", f"user-data-dir={profile}"):
        options.add_argument(f"--{argument}")
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()
