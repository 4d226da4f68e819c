"""Without the extra `services`, all that works in one folder does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

PROGRAM = """
import sys
for name in ("kafka", "faust", "mode", "aiokafka", "rocksdict"):
    sys.modules[name] = None
from benanza.cli import main
main()
"""


def without(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )


def test_models_are_published_and_looked_at(tmp_path: Path) -> None:
    published = without("publish", "zoo:squeezenet", "--data", tmp_path)
    assert published.returncode == 0, published.stderr
    status = without("status", "--data", tmp_path)
    assert status.returncode == 0, status.stderr


@pytest.mark.parametrize("command", ["topics", "status", "serve dedupe"])
def test_over_kafka_one_line_says_what_lacks(command: str) -> None:
    refused = without(*command.split(), BENANZA_KAFKA="localhost:9")
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert line.endswith("say: pip install 'benanza[services]'")
