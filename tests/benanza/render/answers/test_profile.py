"""How long frameworks take, as people read it."""

import io
from datetime import UTC, datetime
from typing import Any

import msgspec

from benanza.render.answers.profile import NO_BOUND, print_profiles, profiles_html
from benanza.render.table import console
from benanza.results.profile import (
    ModelProfile,
    ProfiledCall,
    ProfiledPart,
    Profiles,
    contradiction,
)

CALLS = tuple(
    ProfiledCall(
        name=op,
        op=op,
        positions=positions,
        multiplies=op == "Conv",
        start_us=start_us,
        us=us,
        iqr_us=0.1,
        kernels=(),
    )
    for op, positions, start_us, us in (
        ("ReorderInput", (), 1.0, 2.0),
        ("Conv", (0,), 3.0, 60.0),
        ("Relu", (1,), 64.0, 30.0),
    )
)
JOINED = ProfiledPart(
    kind="more calls",
    positions=(0, 1),
    layers=("conv1", "relu1"),
    op="Conv+Relu",
    calls=(1, 2),
    bound_calls=1,
    us=90.0,
    bound_us=50.0,
    spread_us=1.5,
)
REORDERED = ProfiledPart(
    kind="conversions and copies",
    positions=(),
    layers=(),
    op="ReorderInput",
    calls=(0,),
    bound_calls=0,
    us=2.0,
    bound_us=0.0,
    spread_us=0.1,
)
PROFILE = ModelProfile(
    model="net",
    model_id="0" * 32,
    batch=8,
    device="A CPU, threads: 2",
    on_gpu=False,
    precision="fp32",
    framework="onnxruntime",
    version="1.25.0",
    configuration="default options",
    options={"graph_optimization_level": "ORT_ENABLE_ALL"},
    profiled_at=datetime(2026, 11, 25, tzinfo=UTC),
    us=100.0,
    iqr_us=1.0,
    looked_at_us=110.0,
    calls=CALLS,
    calls_of="",
    bound_us=50.0,
    bound_system_id="e" * 32,
    parts=(JOINED, REORDERED),
    slowed_by="",
    failure="",
)


def lines(top: int = 10, **changes: Any) -> list[str]:
    stream = io.StringIO()
    found = Profiles(profiles=(msgspec.structs.replace(PROFILE, **changes),), errors=())
    print_profiles(console(stream), found, top)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_the_run_stands_beside_the_bound() -> None:
    title, looked_at, *_ = lines()
    assert title == (
        "net, batch 8, fp32, on A CPU, threads: 2: 100.0 µs in onnxruntime 1.25.0, default "
        "options; the bound is 50.0 µs, 50%"
    )
    assert looked_at == "with 3 calls timed: 110.0 µs, +10%"


def test_savings_are_added_up_by_kind_and_then_part_by_part() -> None:
    _, _, *tables = map(cells, lines())
    assert tables == [
        ["what", "parts", "takes µs", "bound µs", "saved µs"],
        ["more calls", "1", "90.0", "50.0", "40.0"],
        ["conversions and copies", "1", "2.0", "0.0", "2.0"],
        [
            *("saved µs", "takes µs", "what", "the framework's calls"),
            *("calls in the bound", "layers"),
        ],
        ["40.0", "90.0", "more calls", "Conv+Relu", "1", "conv1, relu1"],
        ["2.0", "2.0", "conversions and copies", "ReorderInput", "-"],
    ]
    assert len(lines(top=1)) == len(lines()) - 1


def test_what_slowed_the_run_down_stands_beside_its_time() -> None:
    title, *_ = lines(slowed_by="other programs, the hypervisor")
    assert "default options (slowed down by other programs, the hypervisor); the bound is" in title


def test_without_a_bound_it_says_how_to_get_one() -> None:
    title, hint = lines(bound_us=None, parts=())
    assert title.endswith("100.0 µs in onnxruntime 1.25.0, default options")
    assert hint == NO_BOUND


def test_a_bound_above_the_run_is_said_to_be_none_without_a_share() -> None:
    found = lines(bound_us=120.0, parts=(), contradiction=contradiction(100.0, 120.0))
    assert found[0].endswith("100.0 µs in onnxruntime 1.25.0, default options")
    assert found[1].startswith("the bound is 20.0% above this run, so it is none: ")
    assert "as much as two measurements may differ" in contradiction(100.0, 100.9)
    assert contradiction(100.0, 100.0) == contradiction(None, 1.0) == ""


def test_a_bound_above_the_run_is_explained_by_the_parts_that_contradict_it() -> None:
    slower = msgspec.structs.replace(JOINED, kind="not slower", us=30.0, op="Conv")
    said = contradiction(30.0, 50.0)
    *_, first = lines(top=1, bound_us=50.0, parts=(JOINED, slower), contradiction=said)
    assert first.split()[:3] == ["-20.0", "30.0", "not"]


def test_a_partial_bound_says_how_many_layers_it_lacks() -> None:
    title, *_ = lines(bound_us=None, partial_bound_us=40.0, missing_layers=2, parts=())
    assert title.endswith("default options; the bound is 40.0 µs without 2 missing layers")


def test_a_failure_stands_in_place_of_the_time() -> None:
    found = lines(us=None, iqr_us=None, looked_at_us=None, calls=(), parts=(), failure="no kernel")
    assert found == [
        "net, batch 8, fp32, on A CPU, threads: 2: onnxruntime 1.25.0, default options: no kernel"
    ]


def test_long_names_of_layers_and_operators_don_t_widen_the_tables() -> None:
    long = msgspec.structs.replace(JOINED, layers=("n" * 800, "relu"), op="+".join(["O" * 800] * 9))
    found = lines(parts=(long,))
    assert max(map(len, found)) < 500
    assert "…" + "n" * 39 + ", relu" in found[-1]


def test_a_notebook_shows_the_same() -> None:
    assert "more calls" in profiles_html(Profiles(profiles=(PROFILE,), errors=()))


def test_calls_that_were_timed_in_another_run_are_said_to_be() -> None:
    found = lines(looked_at_us=None, calls_of="eager")
    assert "its calls are those of the run with eager, where they were timed" in found
