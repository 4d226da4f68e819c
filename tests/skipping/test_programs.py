"""A test of what a machine lacks is skipped, and fails in CI."""

from pathlib import Path

import pytest

from tests.deploy.compose import ROOT
from tests.skipping.programs import PACKAGES, need_program


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_program_a_test_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TESTS_REQUIRE_PROGRAMS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs Debian's chromium chromium-driver"):
        need_program("chromium", "chromedriver")


@pytest.mark.usefixtures("nothing_installed")
def test_where_it_is_required_the_test_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTS_REQUIRE_PROGRAMS", "1")
    with pytest.raises(pytest.fail.Exception, match="needs Debian's prometheus"):
        need_program("promtool")


def test_with_the_program_a_test_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "cc"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    need_program("cc")


def test_ci_installs_every_package_and_requires_it() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    installed = script.split("packages=(")[1].split(")")[0].split()
    assert set(PACKAGES.values()) <= set(installed)
    assert "TESTS_REQUIRE_PROGRAMS=1" in script
