"""The settings of the command line: those of the environment, and its `--data`."""

import os
from pathlib import Path

from benanza_backbone import settings
from benanza_backbone.settings import Settings


def load(data: Path | None) -> Settings:
    """The settings in this process's environment, `data` in place of `BENANZA_DATA` if given.

    Raises `BenanzaError` that names the variable, the bad value and what is allowed.
    """
    override = {} if data is None else {"BENANZA_DATA": str(data)}
    return settings.load({**os.environ, **override})
