"""Subjects of commits: too long ones and full stops are refused, in messages and in new commits."""

import subprocess
from pathlib import Path

import pytest

from tests.release.subjects import main, new_subjects, subject_of, wrong


def git(repository: Path, *arguments: str) -> None:
    """Runs Git as somebody, whatever the machine's own settings are."""
    someone = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ["git", "-C", str(repository), *someone, *arguments]
    subprocess.run(command, check=True, capture_output=True)


def commit(repository: Path, subject: str) -> None:
    git(repository, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", subject)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def test_long_subjects_and_full_stops_are_refused() -> None:
    assert wrong(["Ask for all bounds once a second", "a" * 72]) == []
    (long,) = wrong(["a" * 73])
    assert long.startswith("73 characters, at most 72: a")
    assert wrong(["Ask for all bounds."]) == ["ends with a full stop: Ask for all bounds."]


def test_the_subject_is_the_first_line_that_git_keeps(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("# A template.\n\n  \nAsk for all bounds  \n\nThe query takes long.\n")
    assert subject_of(message) == "Ask for all bounds"
    main([str(message)])
    message.write_text("Ask for all bounds.\n")
    with pytest.raises(SystemExit, match="ends with a full stop: Ask for all bounds"):
        main([str(message)])


def test_commits_since_the_branch_left_the_main_one_are_new(repository: Path) -> None:
    commit(repository, "An old one.")
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    commit(repository, "First")
    commit(repository, "Second")
    assert new_subjects(repository) == ["Second", "First"]


def test_without_a_main_branch_or_new_commits_the_last_ones_count(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.release.subjects.LAST", 2)
    for subject in ("First", "Second", "Third"):
        commit(repository, subject)
    assert new_subjects(repository) == ["Third", "Second"]
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert new_subjects(repository) == ["Third", "Second"]
