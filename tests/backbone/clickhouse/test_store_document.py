"""docs/clickhouse.md: its examples are run here, and have to find something."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from benanza_analyzer.limits.speed_of_light import AT_OTHER_CLOCKS, MICROSECONDS
from benanza_backbone.clickhouse.store import Store
from benanza_schemas.events import (
    BenchmarkRequested,
    Ceiling,
    LayerMeasured,
    RunTimes,
    event_id,
    identified,
)
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer
from tests.backbone.sample_events import (
    BOUNDS,
    CHECKPOINT,
    CONV_ID,
    CONV_MEASURED,
    EVALUATED,
    EVERY_KIND,
    GROUP_MEASURED,
    MODEL,
    OTHER_SYSTEM,
    RELU,
    RELU_MEASURED,
    RELU_OPERATOR,
    SYSTEM,
    SYSTEM_MEASURED,
    WITNESSED,
    after,
    bound,
    elsewhere,
    measured,
    variant,
)

ROOT = Path(__file__).parents[3]
RUNNERS = ROOT / "services" / "runner" / "benanza_runner"
TEXT = ROOT.joinpath("docs", "clickhouse.md").read_text("utf-8")
EXAMPLES = re.findall(r"^## (.*?)\n.*?^```sql\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)

PAIR = Layer(
    tensors=(*RELU.tensors, RELU.tensors[1]),
    operators=(RELU_OPERATOR, msgspec.structs.replace(RELU_OPERATOR, inputs=(1,), outputs=(2,))),
    outputs=(2,),
)
PAIR_ID = fingerprint(PAIR)
PAIR_REQUESTED = BenchmarkRequested(
    event_id=event_id("BenchmarkRequested", PAIR_ID), fingerprint=PAIR_ID, layer=PAIR
)
"""A group of layers that one call does."""
SLOW = Ceiling("flops", "fp32", 1e10, 1e8)
CLOCKED_US = MICROSECONDS / AT_OTHER_CLOCKS

GPU = identified(msgspec.structs.replace(SYSTEM, accelerator="NVIDIA H200", driver="580.1"))
DAY_S = 86_400.0


def on_gpu(gpu: str, at: float, step_us: float, **said: str) -> LayerMeasured:
    """A layer that was measured on this one of several GPUs of a kind."""
    taken = measured(PAIR_ID, variant("pair", 4.0), at=at)
    environment = {
        "gpu": gpu,
        "step_us": f"{step_us:.3f}",
        "sm_mhz": "1980",
        "celsius": "45",
        "watts": "210",
        "stable": "yes",
        **said,
    }
    identity = event_id("LayerMeasured", gpu, str(at))
    return msgspec.structs.replace(taken, event_id=identity, system=GPU, environment=environment)


DRIFTING = (
    *(on_gpu("GPU-a", at, 0.6) for at in (1.0, 2.0, DAY_S)),
    *(on_gpu("GPU-b", at, 0.6) for at in (1.0, DAY_S)),
    on_gpu("GPU-c", 1.0, 0.6),
    on_gpu("GPU-c", 2.0, 9.0, times="shared"),
    on_gpu("GPU-c", DAY_S, 0.78, stable="no", celsius="88"),
)
"""Three GPUs on two days, of which one gets slow."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store after a replay of the bounds, with measurements of two systems."""
    refused = msgspec.structs.replace(GROUP_MEASURED, variants=CONV_MEASURED.variants[:1])
    grouped = measured(PAIR_ID, variant("pair", 4.0), at=4)
    fused = msgspec.structs.replace(
        bound(cause=grouped.event_id, at=4.5, sequential_us=14.25, fusion=True),
        cover=(CONV_ID, PAIR_ID),
    )
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        store.insert([each for each in EVERY_KIND if each not in (MODEL, CHECKPOINT, WITNESSED)])
        faster = RunTimes(14.0, 0.25, (14.0,))
        store.insert([msgspec.structs.replace(WITNESSED, read_ahead=faster)])
        unfused = {
            "event_id": event_id("unfused"),
            "policy": "without fusion",
            "predicted_us": 15.0,
        }
        store.insert([msgspec.structs.replace(WITNESSED, **unfused)])
        store.insert([msgspec.structs.replace(MODEL, name="resnet50")])
        store.insert([msgspec.structs.replace(each, computed_at=after(60)) for each in BOUNDS])
        ceilings = (SYSTEM_MEASURED.ceilings[0], SLOW)
        store.insert(
            [msgspec.structs.replace(SYSTEM_MEASURED, system=OTHER_SYSTEM, ceilings=ceilings)]
        )
        store.insert([elsewhere(each) for each in (CONV_MEASURED, RELU_MEASURED, refused)])
        store.insert([PAIR_REQUESTED, grouped, fused])
        store.insert([msgspec.structs.replace(SYSTEM_MEASURED, system=GPU, ceilings=())])
        store.insert([*DRIFTING, DRIFTING[0]])
        yield store


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == TEXT.count("```sql") >= 6


@pytest.mark.parametrize("sql", [pytest.param(sql, id=title) for title, sql in EXAMPLES])
def test_an_example_finds_something(store: Store, sql: str) -> None:
    found = store.query(sql)
    assert found
    assert all(name.isidentifier() for name in found[0])


def test_a_replay_moves_no_bound_and_before_the_first_version_there_is_none(store: Store) -> None:
    found = store.query(dict(EXAMPLES)["What moved a bound?"])
    moved = [(row["fusion"], row["moved_us"], row["layer"]) for row in found]
    assert moved == [
        (False, None, ""),
        (False, None, "Conv"),
        (False, 5.0, "Relu"),
        (True, None, "Relu+Relu"),
    ]
    assert {
        (row["batch"], row["system"], row["precision"], row["accounting"]) for row in found
    } == {(1, SYSTEM.cpu, "fp32", "full")}


def test_after_a_replay_a_witness_stands_once_beside_the_bound_that_it_ran(store: Store) -> None:
    (row,) = store.query(dict(EXAMPLES)["How near does a run come to the bound?"])
    assert WITNESSED.sequential is not None
    assert (row["bound_us"], row["run_us"]) == (
        BOUNDS[-1].sequential_us,
        WITNESSED.sequential.median_us,
    )


def test_a_run_under_another_policy_stands_beside_what_was_predicted(store: Store) -> None:
    (row,) = store.query(dict(EXAMPLES)["How far can a what-if be trusted?"])
    assert (row["policy"], row["predicted_us"]) == ("without fusion", 15.0)
    assert (row["run_us"], row["of_the_predicted"]) == (16.5, 1.1)


def test_kernels_are_those_of_their_calls(store: Store) -> None:
    found = store.query(dict(EXAMPLES)["Which kernels take a framework's time?"])
    assert [(row["kernel"], row["op"], row["times"], row["total_us"]) for row in found] == [
        ("gemm", "Conv", 1, 16.5),
        ("pad", "Conv", 1, 1.5),
    ]


def test_a_bound_that_a_run_is_below_is_found(store: Store) -> None:
    """With groups, that is. The run with prefetched weights took 14 µs."""
    (row,) = store.query(dict(EXAMPLES)["Which bounds are wrong?"])
    assert (row["model"], row["run_as"]) == ("resnet50", "with weights prefetched")
    assert (row["run_us"], row["bound_us"], row["of_the_bound"]) == (14.0, 14.25, 0.98)


def test_a_models_time_goes_into_what_its_bound_adds_up(store: Store) -> None:
    """Groups among it, on the one system that the bound is of."""
    found = store.query(dict(EXAMPLES)["Where does a model's time go?"])
    assert [(row["layer"], row["times"], row["total_us"]) for row in found] == [
        ("Conv", 1, 10.25),
        ("Relu+Relu", 1, 4.0),
    ]
    assert sum(row["percent"] for row in found) == pytest.approx(100, abs=0.1)


def test_a_time_stands_beside_what_the_runners_saw_around_it(store: Store) -> None:
    sql = dict(EXAMPLES)["Which times can't be trusted?"]
    assert {row["load_average"] for row in store.query(sql)} == {"0.1", ""}
    runners = "".join(file.read_text("utf-8") for file in RUNNERS.rglob("*.py"))
    for seen in re.findall(r"environment\['(\w+)'\]", sql):
        assert f'"{seen}": ' in runners


def test_a_layer_is_beside_the_rate_that_limits_it(store: Store) -> None:
    """The bandwidth; and arithmetic, for a convolution on the system that is slow at it."""
    sql = dict(EXAMPLES)["How near do the layers come to what the machine can do?"]
    found = {
        (row["layer"], row["limited_by"], round(row["roofline_us"], 6)) for row in store.query(sql)
    }
    conv, relu, *_ = MODEL.summaries
    bandwidth, _ = (ceiling.value for ceiling in SYSTEM_MEASURED.ceilings)
    assert found == {
        ("Conv", "cache", round(CLOCKED_US * conv.bytes / bandwidth, 6)),
        ("Conv", "compute", round(CLOCKED_US * conv.least_flops / SLOW.value, 6)),
        ("Relu", "cache", round(CLOCKED_US * relu.bytes / bandwidth, 6)),
    }


def test_integers_are_not_held_against_a_ceiling_of_floats(tmp_path: Path) -> None:
    """By the bandwidth their time is still known from below."""
    conv, *others = MODEL.summaries
    quantised = msgspec.structs.replace(conv, op="QLinearConv")
    model = msgspec.structs.replace(MODEL, summaries=(quantised, *others))
    ceilings = (SYSTEM_MEASURED.ceilings[0], SLOW)
    with Store.open(f"chdb://{tmp_path}") as store:
        store.insert([each for each in EVERY_KIND if each not in (MODEL, SYSTEM_MEASURED)])
        store.insert([model, msgspec.structs.replace(SYSTEM_MEASURED, ceilings=ceilings)])
        found = store.query("SELECT layer, roofline_us, percent FROM layer_rates ORDER BY layer")
    integers, floats = found
    assert (integers["layer"], integers["percent"]) == ("Conv", None)
    assert integers["roofline_us"] == pytest.approx(CLOCKED_US * conv.bytes / ceilings[0].value)
    assert floats["percent"] > 0


def test_a_layer_failed_where_no_way_of_running_it_has_a_time(store: Store) -> None:
    """Of the group one system tried nothing, and the other one way, in vain."""
    found = store.query(dict(EXAMPLES)["Which systems have measured what?"])
    assert [(row["layers"], row["failed"]) for row in found] == [(4, 1), (3, 1), (1, 0)]


def test_a_gpu_that_gets_slow_is_told_from_its_first_day_and_from_its_kind(store: Store) -> None:
    found = store.query(dict(EXAMPLES)["Does a GPU drift?"])
    seen = [(row["gpu"], row["results"], row["of_its_first_day"]) for row in found]
    assert seen == [
        ("GPU-a", 2, 1.0),
        ("GPU-a", 1, 1.0),
        ("GPU-b", 1, 1.0),
        ("GPU-b", 1, 1.0),
        ("GPU-c", 1, 1.0),
        ("GPU-c", 1, 1.3),
    ]
    slow = found[-1]
    assert (slow["of_its_kind"], slow["celsius"], slow["doubtful"]) == (1.3, 88, 1)
    assert {row["of_its_kind"] for row in found[:-1]} == {1.0}


def test_every_table_and_view_is_named(store: Store) -> None:
    for row in store.query("SELECT name FROM system.tables WHERE database = 'benanza'"):
        assert f"`{row['name']}" in TEXT or row["name"] == "schema_migrations"


def test_a_newer_version_stands_beside_the_one_before(store: Store) -> None:
    (row,) = store.query(dict(EXAMPLES)["What changed with a version?"])
    assert (row["version_before"], row["version"]) == ("1.31.1", "1.32.0")
    assert (row["p99_ratio"], row["per_s_ratio"]) == (0.75, 1.2)


def test_a_result_that_two_agents_have_is_there_once(store: Store) -> None:
    again = msgspec.structs.replace(EVALUATED, evaluated_at=after(9), agent="another:8")
    store.insert([EVALUATED, again])
    found = store.query("SELECT count() AS n FROM evaluations FINAL")
    assert found == [{"n": 2}]
    assert len(store.query(dict(EXAMPLES)["And a system, on all models?"])) == 2
