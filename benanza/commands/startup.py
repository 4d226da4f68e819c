"""What a command that uses settings does first."""

import logging
from pathlib import Path

from benanza.settings import load
from benanza_backbone.log import configure, quieten_kafka
from benanza_backbone.settings import Settings


def settings_of(data: Path | None) -> Settings:
    """The settings, `data` in place of `BENANZA_DATA` if given.

    From here on, logs go to standard error in the format that the settings name. Commands
    print themselves what users can cause, so that only defects are logged.
    """
    settings = load(data)
    configure(settings.log_format, logging.ERROR)
    quieten_kafka()
    return settings
