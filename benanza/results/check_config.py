"""The settings, and whether what they name answers."""

from benanza.results.result import Result


class ConfigSetting(Result, frozen=True, kw_only=True):
    """A setting: its value as text, without passwords, and where that comes from."""

    name: str
    value: str
    source: str
    description: str


class ConfigCheck(Result, frozen=True, kw_only=True):
    """Something that the settings name: whether it answers, and what it said."""

    name: str
    ok: bool
    detail: str


class ConfigReport(Result, frozen=True, kw_only=True):
    """Every setting, variables that look like one but aren't, and every check."""

    settings: tuple[ConfigSetting, ...]
    unknown: tuple[str, ...]
    checks: tuple[ConfigCheck, ...]
