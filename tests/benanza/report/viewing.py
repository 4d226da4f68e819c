"""A report in a browser, once its open parts are drawn."""

from pathlib import Path
from typing import Any

from tests.browser import shown

OPEN_PARTS = "[data-packed]:not(details:not([open]))"


def opened(
    browser: Any, file: Path, *, width: int = 1100, scheme: str = "light", media: str = "screen"
) -> Any:
    """The page in a window of this width."""
    return drawn(shown(browser, file, width=width, scheme=scheme, media=media))


def drawn(page: Any) -> Any:
    """The page, once what it has open is drawn."""
    from selenium.webdriver.support.wait import WebDriverWait

    script = f"""return [...document.querySelectorAll("{OPEN_PARTS}")]
      .every((part) => part.dataset.drawn === "yes")"""
    WebDriverWait(page, 60).until(lambda _: page.execute_script(script))
    return page


def all_of(page: Any, selector: str) -> list[Any]:
    """The elements that a CSS selector finds."""
    found: list[Any] = page.find_elements("css selector", selector)
    return found
