"""Models that were run as their bounds say, as people read them."""

import io
from typing import Any

import msgspec

from benanza.render.table import console
from benanza.render.witness import print_witnesses
from benanza.results.witness import ModelWitness, Witnesses

WITNESS = ModelWitness(
    model="alexnet",
    model_id="a" * 32,
    batch=8,
    system="A GPU",
    system_id="b" * 32,
    runtime="cuda",
    precision="fp16",
    policy="",
    predicted_us=None,
    sequential_bound_us=200.0,
    parallel_bound_us=150.0,
    attainable_us=210.0,
    sequential_us=240.0,
    sequential_iqr_us=1.0,
    read_ahead_us=220.0,
    read_ahead_iqr_us=1.0,
    parallel_us=180.0,
    parallel_iqr_us=1.0,
    calls=15,
    layout_changes=1,
    error=0.004,
    allowed_error=0.02,
    unchecked="",
    failure="",
)


def lines(*witnesses: ModelWitness) -> list[str]:
    stream = io.StringIO()
    print_witnesses(console(stream), Witnesses(witnesses=witnesses, errors=()))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def but(**changes: Any) -> ModelWitness:
    return msgspec.structs.replace(WITNESS, **changes)


def test_a_run_stands_beside_its_bound_and_the_estimate() -> None:
    titles, row, system = lines(WITNESS)
    columns = [title.strip() for title in titles.split("  ") if title.strip()]
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    found = dict(zip(columns, cells, strict=True))
    assert found["model"] == "alexnet"
    assert found["run µs"] == "240.0"
    assert found["run / bound"] == "1.20"
    assert found["attainable / run"] == "0.88"
    assert found["read ahead / bound"] == "1.10"
    assert found["run on streams µs"] == "180.0"
    assert found["error"] == "0.004"
    assert system == "measured on A GPU with cuda at fp16"


def test_a_model_that_could_not_be_run_has_dashes_and_its_reason() -> None:
    none = but(sequential_us=None, read_ahead_us=None, parallel_us=None, failure="no memory")
    _, row, _, reason = lines(none)
    assert " - " in row
    assert reason == "alexnet, batch 8, fp16: no memory"


def test_a_run_that_is_wrong_or_was_not_compared_says_so() -> None:
    (*_, wrong) = lines(but(error=0.5))
    assert wrong == (
        "alexnet, batch 8, fp16: wrong results: they are off by 0.5 of their norm; 0.02 is "
        "allowed. Each call alone was right: please report it"
    )
    (*_, unchecked) = lines(but(error=None, allowed_error=None, unchecked="no numbers"))
    assert unchecked == "alexnet, batch 8, fp16: its results were not compared: no numbers"


def test_each_precision_has_a_table_of_its_own() -> None:
    shown = lines(WITNESS, but(precision="fp32"))
    assert sum(line.startswith("measured on") for line in shown) == 2


def test_runs_under_other_policies_stand_beside_what_was_predicted() -> None:
    unfused = but(policy="without fusion", predicted_us=300.0, sequential_us=350.0, calls=40)
    found = lines(WITNESS, unfused)
    titles, row = found[2:4]
    columns = [title.strip() for title in titles.split("  ") if title.strip()]
    cells = [cell.strip() for cell in row.split("  ") if cell.strip()]
    shown = dict(zip(columns, cells, strict=True))
    assert shown["what if"] == "without fusion"
    assert shown["predicted µs"] == "300.0"
    assert shown["run / predicted"] == "1.17"
    assert shown["predicted more µs"] == "100.0"
    assert shown["seen more µs"] == "110.0"
    assert [line for line in found if line.startswith("alexnet")] == [found[1], row]


def test_a_policy_that_lacks_layers_says_so() -> None:
    lacking = but(
        policy="libraries alone", predicted_us=None, sequential_us=None, failure="it lacks 2 layers"
    )
    assert (
        lines(WITNESS, lacking)[-1] == "alexnet, batch 8, fp16, libraries alone: it lacks 2 layers"
    )
