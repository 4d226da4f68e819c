"""The lines that the study's page begins with say what its tables say."""

import re
from pathlib import Path

from study.findings import REMEDIES

PAGE = Path(__file__).parents[2] / "docs" / "results" / "study.md"


def summaries(page: str) -> list[dict[str, list[str]]]:
    """The rows of each table of speed-ups, by their titles: models, least, … geometric mean."""
    tables = re.findall(r"^\| speed-up .*\n(?:\|.*\n)+", page, re.MULTILINE)
    rows = ([line.split("|")[1:-1] for line in table.splitlines()[2:]] for table in tables)
    return [{row[0].strip(): [cell.strip() for cell in row[1:]] for row in each} for each in rows]


def test_the_page_begins_with_what_its_tables_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head = page[: page.index("\n## ")]
    assert len([line for line in head.splitlines() if line.startswith("- ")]) == 5
    fp16, tf32, large = summaries(page)
    for table in (tf32, large):
        *first, last = (table[title][-1] for title in REMEDIES)
        assert f"{', '.join(first)} and {last}" in head
    assert all(f" {fp16[title][-1]}" in head for title in REMEDIES)
    models, least, means = (
        [table["PyTorch / bound"][column] for table in (fp16, tf32, large)] for column in (0, 1, -1)
    )
    assert f"at least {least[0]} times" in head
    assert f"{least[1]} in TF32, and {least[2]} in fp16" in head
    assert f"{models[0]}, {models[1]} and {models[2]} models" in head
    assert f"{means[0]}, {means[1]} and {means[2]}." in head
    said = re.search(r"Bounds in fp16 are ([\d.]+) times their speeds of light", head)
    assert said is not None
    # The table has a digit more, which was rounded as well.
    assert abs(float(said[1]) - float(fp16["bound / light"][-1])) < 0.056
    assert all(float(table["bound / light"][1]) > 1 for table in (fp16, tf32, large))
