"""Documents of gates, in files and in revisions of a repository."""

import shutil
import subprocess
from pathlib import Path

import pytest

from benanza.gating.baseline import Earlier, InRevision, document
from benanza_backbone.errors import BenanzaError


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git")
def test_a_document_may_be_in_a_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "gate.json"
    file.write_text('{"runs": [], "errors": []}')
    named = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "-A"), (*named, "commit", "-qm", "one")):
        subprocess.run(["git", *command], check=True)
    file.write_text("changed since")
    Earlier(InRevision("HEAD:gate.json"), 5)
    (tmp_path / "a:b.json").touch()
    assert isinstance(document("a:b.json"), Path)
    assert isinstance(document("x" * 5_000 + ":gate.json"), InRevision)
    for name in ("HEAD:other.json", "nowhere:gate.json", "--help:gate.json"):
        with pytest.raises(BenanzaError, match=f"Git has no {name} "):
            Earlier(InRevision(name), 5)
    with pytest.raises(BenanzaError, match=r"gate\.json isn't what benanza gate"):
        Earlier(file, 5)
