"""The lines that the study's page begins with say what its tables say."""

import re
from pathlib import Path

from study.findings import REMEDIES

PAGE = Path(__file__).parents[2] / "docs" / "results" / "study.md"


def means(page: str) -> list[dict[str, list[str]]]:
    """The rows of each table of speed-ups, by their titles: models, least, … geometric mean."""
    tables = re.findall(r"^\| speed-up .*\n(?:\|.*\n)+", page, re.MULTILINE)
    rows = ([line.split("|")[1:-1] for line in table.splitlines()[2:]] for table in tables)
    return [{row[0].strip(): [cell.strip() for cell in row[1:]] for row in each} for each in rows]


def test_the_page_begins_with_what_its_tables_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head = page[: page.index("\n## ")]
    assert len([line for line in head.splitlines() if line.startswith("- ")]) == 5
    fp16, tf32, large = means(page)
    for table in (tf32, large):
        assert ", ".join(table[title][-1] for title in REMEDIES) in head
    assert all(f" {fp16[title][-1]}" in head for title in REMEDIES)
    for table in (fp16, tf32, large):
        models, least, *_, mean = table["PyTorch / bound"]
        assert f"{least} times and more ({mean} in the mean of {models})" in head
    assert f"{float(fp16['bound / roofline'][-1]):.1f} times their rooflines" in head
