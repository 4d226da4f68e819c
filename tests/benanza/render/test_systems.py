"""Systems that people call the same are told apart."""

from benanza.render.systems import SystemNames
from tests.benanza.render.test_bounds import BOUND, but, lines


def test_a_system_is_called_by_what_it_is() -> None:
    systems = SystemNames([BOUND, but(model="vgg19")])
    assert systems.measured_on(BOUND) == "measured on A CPU with onnxruntime at fp32"
    assert not systems.several


def test_systems_that_are_called_the_same_have_ids_too() -> None:
    """One driver later it is another system."""
    later = but(system_id="0123456789abcdef" * 2)
    other = but(system="A GPU", system_id="c" * 32, runtime="cuda")
    systems = SystemNames([BOUND, later, other])
    assert systems.name(later) == "A CPU (01234567) with onnxruntime"
    assert systems.name(BOUND) == "A CPU (bbbbbbbb) with onnxruntime"
    assert systems.name(other) == "A GPU with cuda"
    assert systems.several


def test_one_device_with_two_runtimes_is_told_apart_by_these() -> None:
    systems = SystemNames([BOUND, but(system_id="c" * 32, runtime="cuda")])
    assert systems.name(BOUND) == "A CPU with onnxruntime"


def test_tables_of_both_say_which_is_which() -> None:
    shown = lines(BOUND, but(system_id="c" * 32))
    assert [line for line in shown if line.startswith("measured")] == [
        "measured on A CPU (bbbbbbbb) with onnxruntime at fp32",
        "measured on A CPU (cccccccc) with onnxruntime at fp32",
    ]


def test_a_system_of_which_only_times_are_known_is_called_by_its_id() -> None:
    """Its measurements came without the event that says what it is."""
    unknown = but(system="", runtime="", system_id="0123456789abcdef" * 2)
    assert "measured on the system 01234567, which isn't described here, at fp32" in lines(unknown)
