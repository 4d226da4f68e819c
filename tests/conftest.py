"""What all tests share: how Hypothesis runs, in which order they run, and a Kafka broker."""

import gc
import logging
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings

from benanza_backbone.kafka.connection import KafkaConnection
from tests.kafka_broker import KafkaBroker, end_shared_broker, lacking, shared_broker
from tests.shared import make_shared_folder
from tests.skipping.programs import need_program, skip_or_fail
from tests.skipping.summary import skipped_lines

# A shared machine may take its time over any one example; a failure says how to repeat it.
settings.register_profile("benanza", deadline=None, print_blob=True)
settings.register_profile("quick", settings.get_profile("benanza"), max_examples=20)
settings.register_profile("sample", settings.get_profile("benanza"), max_examples=40)
settings.register_profile("many", settings.get_profile("benanza"), max_examples=1_000)
settings.load_profile("benanza")

# As in the processes that tests start (`benanza.conftest.environment`).
os.environ["BENANZA_CPU_LIBRARIES"] = "none"

BROKER_OF_THE_USER = os.environ.get("BENANZA_KAFKA", "")

LEVEL_AT_FIRST = logging.getLogger().level

INTEGRATION = {"broker_can_start", "kafka_bootstrap", "store", "benanza", "program"}
"""Fixtures that stand for a broker, the ClickHouse engine or the program as a process."""


def pytest_configure(config: pytest.Config) -> None:
    """Makes the folder of what pytest's processes share; at the end of the run it is removed, and
    the broker ended whose data are there. Lets Ctrl-C end what tests start.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # So a shell starts what is to run in the background, and so would all be that tests start.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    make_shared_folder(config)
    if hasattr(config, "workerinput"):
        _stay_on_one_core(int(config.workerinput["workerid"].removeprefix("gw")))
    else:
        config.add_cleanup(end_shared_broker)


def _stay_on_one_core(worker: int) -> None:
    """So does what this process starts. ONNX Runtime and the ClickHouse engine have a thread for
    each core, and these spend as much time waiting for each other where all cores are busy.
    """
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[worker % len(cores)]})


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Tests, and what they import, stay until the end: it is in vain that the garbage collector
    looks at all of it again and again. It has little to find in tests, either.
    """
    gc.disable()
    if hasattr(session.config, "workerinput"):
        _begin_elsewhere(session.config.args, **session.config.workerinput)
    found = yield
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()
    return found


def pytest_itemcollected(item: pytest.Item) -> None:
    """Marks a test that uses such a fixture."""
    if INTEGRATION.intersection(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.integration)


def _begin_elsewhere(folders: list[str], workerid: str, workercount: int, **_: object) -> None:
    """Imports the tests of these folders, from a part on that no other process begins with. On a
    fresh clone all would compile the same module at the same time; so each finds what others have
    compiled.
    """
    modules = [path for folder in folders for path in sorted(Path(folder).rglob("test_*.py"))]
    first = int(workerid.removeprefix("gw")) * len(modules) // workercount
    for path in modules[first:] + modules[:first]:
        parts = path.resolve().relative_to(Path(__file__).parents[1]).with_suffix("").parts
        with suppress(Exception, pytest.skip.Exception):  # what is wrong is said when collected
            import_module(".".join(parts))


@pytest.hookimpl(trylast=True)  # after pytest-randomly has shuffled them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts what takes longest first, so that workers end at about the same time. What takes as
    long stays in random order.
    """
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> tuple[bool, float]:
    timeout = item.get_closest_marker("timeout")
    return item.get_closest_marker("integration") is None, -timeout.args[0] if timeout else 0.0


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Looks for the programs that a test is marked with."""
    for mark in item.iter_markers("needs_program"):
        need_program(*mark.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says why tests were skipped."""
    if lines := skipped_lines(terminalreporter.stats.get("skipped", ())):
        terminalreporter.section("skipped")
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def broker_can_start() -> None:
    """Where no broker can be started, the test is skipped.

    Under `TESTS_REQUIRE_KAFKA=1` it fails.
    """
    if reason := lacking():
        skip_or_fail("TESTS_REQUIRE_KAFKA", reason)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """A command that runs in this process sets how the process logs: also in a fixture of several
    tests, which is made before this one.
    """
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.setLevel(LEVEL_AT_FIRST)
    yield
    root.setLevel(LEVEL_AT_FIRST)
    root.handlers[:] = handlers


@pytest.fixture(scope="session")
def kafka_bootstrap(request: pytest.FixtureRequest) -> str:
    """The address of a broker: the one in `BENANZA_KAFKA`, or one that all tests share."""
    if BROKER_OF_THE_USER:
        return BROKER_OF_THE_USER
    request.getfixturevalue("broker_can_start")
    return shared_broker()


@pytest.fixture
def kafka_broker(broker_can_start: None, tmp_path: Path) -> Iterator[KafkaBroker]:
    """A broker of the test's own, which it may stop and kill."""
    broker = KafkaBroker(tmp_path / "kafka")
    broker.start()
    yield broker
    broker.kill()  # nobody needs what it holds


@pytest.fixture
def kafka(kafka_bootstrap: str) -> KafkaConnection:
    """A broker under names that no other test uses."""
    servers = tuple(kafka_bootstrap.split(","))
    return KafkaConnection(bootstrap=servers, prefix=f"test-{uuid4().hex}-")
