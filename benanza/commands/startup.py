"""What a command that uses settings does first."""

import logging
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from benanza.running.progress import RunProgress, show_progress
from benanza.settings import load
from benanza_backbone.log import configure, quieten_kafka
from benanza_backbone.settings import Settings

log = logging.getLogger(__name__)


def settings_of(data: Path | None) -> Settings:
    """The settings, `data` in place of `BENANZA_DATA` if given.

    From here on, logs go to standard error in the format that the settings name, and so does the
    progress of what takes long. Commands print themselves what users can cause, so that only
    defects are logged.
    """
    settings = load(data)
    show_progress(_on_standard_error)
    configure(settings.log_format, logging.ERROR)
    quieten_kafka()
    return settings


def service_settings() -> Settings:
    """The settings; from here on, the service logs to standard error as they say.

    Raises `BenanzaError` if a setting is wrong.
    """
    settings = load(None)
    configure(settings.log_format)
    # What matters of the libraries' logs, the services log themselves.
    quieten_kafka()
    for library in ("aiokafka", "urllib3"):
        logging.getLogger(library).setLevel(logging.ERROR)
    for line in settings.unknown:
        log.warning("%s", line)
    return settings


def _on_standard_error() -> AbstractContextManager[RunProgress]:
    from benanza.render.progress import progress_on

    return progress_on(sys.stderr)
