"""The site of docs/: it is built strictly, and its pages need no network."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.support.wait import WebDriverWait

from docs.repository_pages import PAGES, with_links
from tests.docs.blocks import DOCS, ROOT

FETCHED = re.compile(r'<(?:script|img|iframe)[^>]+src="?http|<link[^>]+href="?http|url\(["\']?http')


def build(root: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    """Builds the site of a copy of the repository."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_every_page_of_docs_is_in_the_site(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = "index.html" if page.stem in ("README", "index") else f"{page.stem}.html"
        assert (site / page.relative_to(DOCS).parent / name).exists(), page
    assert (site / "repository" / "CONTRIBUTING.html").exists()


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for file in (*site.rglob("*.html"), *site.rglob("*.css")):
        assert not FETCHED.search(file.read_text("utf-8")), file


@pytest.mark.slow
@pytest.mark.needs_program("chromium", "chromedriver")
def test_the_search_finds_pages_where_the_site_is_files(browser: Any, site: Path) -> None:
    browser.get((site / "decisions" / "index.html").as_uri())
    browser.find_element("css selector", "input.md-search__input").send_keys("attainable")
    found = WebDriverWait(browser, 60).until(
        lambda page: page.find_elements("css selector", "a.md-search-result__link")
    )
    pages = [link.get_attribute("href").partition("?")[0] for link in found]
    assert (site / "decisions" / "0008-warm-bound-attainable-estimate.html").as_uri() in pages


@pytest.mark.slow
def test_the_reference_has_the_commands_the_api_and_the_events(site: Path) -> None:
    assert 'id="benanza-explain"' in (site / "reference" / "commands.html").read_text("utf-8")
    assert "<code>BENANZA_KAFKA</code>" in (site / "reference" / "settings.html").read_text("utf-8")
    api = (site / "reference" / "api.html").read_text("utf-8")
    assert 'id="benanza.api.measuring.lower_bound"' in api
    events = (site / "reference" / "schemas.html").read_text("utf-8")
    assert 'id="benanza_schemas.events.measurements.LayerMeasured"' in events


@pytest.mark.slow
def test_broken_links_fail_the_build(tmp_path: Path) -> None:
    """Those to a page, to a heading, and to a file of the repository."""
    for entry in ROOT.iterdir():
        if entry.name not in ("docs", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    # Without what the reference is made of, which takes longest.
    for page in (tmp_path / "docs" / "reference").glob("*.md"):
        page.write_text("# Reference\n")
    broken = ("nowhere.md", "glossary.md#nothing", "../benanza/nowhere.py", "../NOWHERE.md")
    with (tmp_path / "docs" / "index.md").open("a") as index:
        index.writelines(f"\n[broken]({target})\n" for target in broken)
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert built.stderr.count("WARNING") == len(broken), "nothing else fails it"
    for target in broken:
        assert f"'{target}'" in built.stderr, built.stderr


@pytest.mark.parametrize(
    ("page", "markdown", "shown"),
    [
        ("gpu.md", "[terms](glossary.md#bounds)", "[terms](glossary.md#bounds)"),
        ("gpu.md", "[how](../CONTRIBUTING.md#test)", "[how](repository/CONTRIBUTING.md#test)"),
        ("extend/region.md", "[how](../../SECURITY.md)", "[how](../repository/SECURITY.md)"),
        ("gpu.md", "[`benanza/cli.py`](../benanza/cli.py)", "`benanza/cli.py`"),
        ("gpu.md", "[cli.py](../benanza/cli.py)", "`benanza/cli.py`"),
        ("gpu.md", "[the API](../benanza/cli.py)", "the API (`benanza/cli.py`)"),
        ("gpu.md", "[start](../README.md)", "[start](index.md)"),
        (
            "gpu.md",
            "[SQL](../examples/your-own-sql.ipynb)",
            "[SQL](repository/examples/your-own-sql.md)",
        ),
        ("gpu.md", "[other](../nowhere.py)", "[other](../nowhere.py)"),
        ("gpu.md", "[web](https://example.com/README.md)", "[web](https://example.com/README.md)"),
        ("gpu.md", "`[code](../README.md)`", "`[code](../README.md)`"),
        ("gpu.md", "```\n[code](../README.md)\n```\n", "```\n[code](../README.md)\n```\n"),
        ("repository/CONTRIBUTING.md", "[terms](docs/glossary.md)", "[terms](../glossary.md)"),
        (
            "repository/services/runner/README.md",
            "[gpu](../../docs/gpu.md), [ingest](../ingest/README.md)",
            "[gpu](../../../gpu.md), [ingest](../ingest/README.md)",
        ),
    ],
)
def test_links_are_those_of_the_site(page: str, markdown: str, shown: str) -> None:
    assert with_links(markdown, page) == shown


def test_pages_outside_of_docs_are_there() -> None:
    for page in PAGES:
        assert (ROOT / page).exists(), page
