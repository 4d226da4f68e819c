"""The page on a million models multiplies what was measured, and begins with what comes of that."""

from benchmarks.million_page import ARCHITECTURES, LAYERS, MODELS, Costs, page
from tests.backbone.sample_events import MODEL

ONE = Costs(1, 1, 100_000, 500, graph_s=0.006, result_s=0.0003)
TWO = Costs(2, 2, 200_000, 1_000, graph_s=0.012, result_s=0.0006)
TABLES = ("models", "measurements", "architecture_bounds")
ROWS = dict.fromkeys(TABLES, (1, 100.0)) | {
    f"architecture_{part}": (1, 100.0) for part in ("layers", "edges", "groups")
}


def test_the_page_begins_with_what_its_tables_say() -> None:
    text = page([ONE, TWO], [[MODEL]] * 4, move_s=0.001, moved=2.0, rows=ROWS)
    head, *_ = text.split("\n\n`python")
    assert head.startswith("# A million models\n\n- One analyzer takes 3.0 GB, and 12 minutes")
    assert "| 1 | 3.0 GB | 12 min |" in text
    assert "- Each of 8 analyzers takes 1.2 GB, and 10 minutes to start" in head
    assert "| 8 | 1.2 GB | 10 min |" in text
    assert "and with 24 they fill 24 GB of memory." in head
    rows = MODELS + 3 * ARCHITECTURES + LAYERS + 4 * ARCHITECTURES
    assert f"ClickHouse {rows * 100 / 1e9:,.1f} GB on the disk." in head
    assert len(head.splitlines()) == 2 + 4
