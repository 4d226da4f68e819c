"""Programs that tests run, and what CI says where one is missing."""

import os
import shutil

import pytest

PACKAGES = {
    "c++": "g++",
    "cc": "gcc",
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "prometheus": "prometheus",
    "promtool": "prometheus",
}
"""Debian's package of each; `.ci/run` installs them."""


def need_program(*programs: str) -> None:
    """Where any of the programs isn't installed, the test that calls this is skipped.

    Under `TESTS_REQUIRE_PROGRAMS=1` it fails.
    """
    lacking = [program for program in programs if shutil.which(program) is None]
    if lacking:
        packages = " ".join(sorted({PACKAGES[program] for program in lacking}))
        skip_or_fail("TESTS_REQUIRE_PROGRAMS", f"needs Debian's {packages}")


def skip_or_fail(required: str, reason: str) -> None:
    """Skips the test that calls this; fails it if the environment variable `required` is 1."""
    if os.environ.get(required) == "1":
        pytest.fail(reason)
    pytest.skip(reason)
