"""The folder of the embedded installation is its user's alone, and its log is what was left."""

import stat
from pathlib import Path

import pytest

from benanza.installation.beside import log_beside
from benanza.installation.embedded import opened_log
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.data_folder import settings_in


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path / "data")
    with opened_log(settings):
        pass
    return settings


def test_a_new_folder_is_private(settings: Settings) -> None:
    assert stat.S_IMODE(settings.data.stat().st_mode) == 0o700


def test_a_log_beside_is_what_was_left(settings: Settings) -> None:
    with log_beside(settings):
        pass
    with opened_log(settings), log_beside(settings):
        pass
    settings.event_log.write_bytes(b"")
    with pytest.raises(BenanzaError, match="put back a backup"), log_beside(settings):
        pass
    assert settings.event_log.read_bytes() == b""
