"""Predicted bounds, for people."""

import io

import msgspec

from benanza.predicting.results import NotPredicted, PredictedBound, PredictedBounds
from benanza.render.answers.predicted import predictions_html, print_predictions
from benanza.render.table import console
from benanza_backbone.clickhouse.bounds import MissingLayer

WHOLE = PredictedBound(
    model="small",
    model_id="1" * 32,
    batch=1,
    dims={},
    precision="fp16",
    accounting="full",
    fusion=True,
    predicted_sequential_us=100.0,
    low_us=50.0,
    high_us=200.0,
    predicted_parallel_us=80.0,
    error_bar=2.0,
    error_bar_learned="two GPUs",
    learned_from="a GPU",
    learned_from_id="abcdef0123",
    runtime="cuda",
    measured_there_us=70.0,
    partial=False,
    layers=3,
    missing=(),
)
PARTIAL = msgspec.structs.replace(
    WHOLE,
    model="other",
    precision="fp32",
    dims={"past": 8},
    partial=True,
    missing=(MissingLayer(name="a", op="Conv", reason="not measured"),),
)
REFUSED = NotPredicted(
    model="small",
    model_id="1" * 32,
    batch=1,
    precision="fp16",
    system="a CPU",
    system_id="2" * 32,
    reason="it is no GPU",
)
ALL = PredictedBounds(
    on="the target",
    figures="data sheet",
    predicted=(PARTIAL, WHOLE),
    not_predicted=(REFUSED, REFUSED),
)


def test_what_is_printed() -> None:
    written = io.StringIO()
    print_predictions(console(written), ALL)
    lines = [line.split() for line in written.getvalue().splitlines()]
    learned = "from what was measured on a GPU (abcdef01) with cuda"
    assert [" ".join(line) for line in lines] == [
        "model batch dims predicted sequential µs predicted parallel µs coverage",
        "other 1 past=8 100.0 (50.0 to 200.0) 80.0 partial: lacks 1",
        f"predicted for the target (data sheet) at fp32, {learned}",
        "model batch predicted sequential µs predicted parallel µs coverage",
        "small 1 100.0 (50.0 to 200.0) 80.0 full",
        f"predicted for the target (data sheet) at fp16, {learned}",
        "nine of ten lay between 1/2.0 and 2.0 times the predicted: two GPUs",
        "not predicted from a CPU at fp16: it is no GPU",
    ]


def test_how_it_is_counted_is_said_where_it_is_not_as_usual() -> None:
    written = io.StringIO()
    paper = msgspec.structs.replace(WHOLE, accounting="paper", fusion=False)
    print_predictions(console(written), msgspec.structs.replace(ALL, predicted=(paper,)))
    assert "with cuda, accounting paper, without fusion" in written.getvalue()


def test_a_notebook_shows_the_table() -> None:
    assert "predicted sequential" in predictions_html(ALL)
