"""The folder of the embedded installation is its user's alone."""

import stat
from pathlib import Path

from benanza.installation.embedded import opened_log
from benanza_backbone.settings import load


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    with opened_log(load({"BENANZA_DATA": str(tmp_path / "data")})):
        pass
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
