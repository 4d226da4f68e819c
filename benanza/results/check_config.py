"""The settings, and whether what they name answers."""

from benanza.results.result import Result
from benanza_backbone.settings import ListedSetting


class ConfigCheck(Result, frozen=True, kw_only=True):
    """Something that the settings name: whether it answers, and what it said."""

    name: str
    ok: bool
    detail: str


class ConfigReport(Result, frozen=True, kw_only=True):
    """Every setting, variables that look like one but aren't, and every check."""

    settings: tuple[ListedSetting, ...]
    unknown: tuple[str, ...]
    checks: tuple[ConfigCheck, ...]
