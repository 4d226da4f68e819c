"""A hook of MkDocs: the repository's own pages are pages of the site, with links that work there.

Pages link to each other as files of the repository, so that they can be read there. In the site,
those outside of `docs/` are under `repository/`. A link to any other file, such as a source file,
becomes its text, with the path from the root of the repository; a link to a file that isn't there
stays, so that a strict build fails. Notebooks are pages with what is stored of their outputs.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCS = "docs"
BELOW = "repository"
PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "deploy/kafka/README.md",
    "recordings/README.md",
    "services/analyzer/README.md",
    "services/dedupe/README.md",
    "services/ingest/README.md",
    "services/runner/README.md",
)
"""Those outside of `docs/`."""

NOTEBOOKS = (
    "examples/first-bound.ipynb",
    "examples/compare-systems.ipynb",
    "examples/what-if-and-advice.ipynb",
    "examples/your-own-sql.ipynb",
)
"""Those that are pages, too."""

HOME = {"README.md": "index.md"}
"""What tells on the site what a page of the repository tells there."""

_LINKS = re.compile(
    r"^```.*?^```|\[(?P<text>[^\]\[]*)\]\((?P<target>[^()\s:#]+)(?P<anchor>#[^()\s]*)?\)|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)
"""A block of code, a link to a file, or code within a sentence."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages outside of `docs/`, and the notebooks."""
    for page in PAGES:
        files.append(File.generated(config, f"{BELOW}/{page}", abs_src_path=str(ROOT / page)))
    for notebook in NOTEBOOKS:
        content = markdown_of(json.loads((ROOT / notebook).read_text("utf-8")))
        files.append(File.generated(config, _page_of(notebook), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its links as the site has them."""
    return with_links(markdown, page.file.src_uri)


def markdown_of(notebook: dict[str, Any]) -> str:
    """A notebook of nbformat 4 as Markdown: its cells, and the tables and text that they showed."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            yield f"```text\n{''.join(output['text']).rstrip()}\n```"
        elif shown := "".join(output["data"].get("text/html", ())):
            plain = re.sub(r"<style.*?</style>", "", shown, flags=re.DOTALL)
            plain = plain.replace(' border="1" class="dataframe"', "")  # the site has a style
            # A blank line would end the block that Markdown leaves as it is.
            lines = [line.strip() for line in plain.splitlines() if line.strip()]
            yield "\n".join(["<div>", *lines, "</div>"])


def _page_of(notebook: str) -> str:
    return f"{BELOW}/{notebook.removesuffix('.ipynb')}.md"


def with_links(markdown: str, page: str) -> str:
    """The Markdown of a page, by its path in the site, with links as the site has them; code stays
    as it is.
    """
    return _LINKS.sub(lambda link: _link(link, page) if link["target"] else link[0], markdown)


def _link(link: re.Match[str], page: str) -> str:
    source = PurePosixPath(in_repository(page))
    path = normpath(source.parent / link["target"])
    if not (ROOT / path).exists() or path.startswith(".."):
        return link[0]
    target = in_site(path)
    if target is None:
        text = link["text"].strip("`")
        return f"`{path}`" if path.endswith(text) else f"{link['text']} (`{path}`)"
    there = relpath(target, PurePosixPath(page).parent)
    return f"[{link['text']}]({there}{link['anchor'] or ''})"


def in_repository(page: str) -> str:
    """The path in the repository of a page of the site."""
    return page.removeprefix(f"{BELOW}/") if page.startswith(f"{BELOW}/") else f"{DOCS}/{page}"


def in_site(path: str) -> str | None:
    """Where the site has a file of the repository; `None` if it hasn't."""
    if path in HOME:
        return HOME[path]
    if path.startswith(f"{DOCS}/"):
        return path.removeprefix(f"{DOCS}/")
    if path in NOTEBOOKS:
        return _page_of(path)
    return f"{BELOW}/{path}" if path in PAGES else None
