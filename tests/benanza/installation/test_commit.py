"""The commit that `benanza --version` shows: of a checkout, of what was built, or none."""

import subprocess
from pathlib import Path

import pytest

from benanza.installation import commit


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "--quiet", "--message", "a")
    git(tmp_path, "tag", "-a", "v1", "-m", "a tag does not hide the commit")
    return tmp_path


def test_a_checkout_says_its_commit_and_whether_files_differ(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")[:12]
    assert commit.checked_out(checkout) == head
    (checkout / "a").write_text("2")
    assert commit.checked_out(checkout) == f"{head}-dirty"


def test_a_folder_within_another_checkout_has_none(checkout: Path) -> None:
    (checkout / "within").mkdir()
    assert commit.checked_out(checkout / "within") == ""


def test_without_git_there_is_none(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert commit.checked_out(checkout) == ""


def test_what_was_built_says_the_commit_that_was_put_into_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = checkout / "benanza"
    package.mkdir()
    monkeypatch.setattr(commit, "_PACKAGE", package)
    assert commit.built_from() == commit.checked_out(checkout) != ""
    (package / "commit.txt").write_text("0123456789ab\n")
    assert commit.built_from() == "0123456789ab"
