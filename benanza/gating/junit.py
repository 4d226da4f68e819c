"""What a gate says as JUnit's XML, which CI systems show as tests.

Source: https://github.com/testmoapp/junitxml, which lists what is common to those that read it.
"""

from collections.abc import Iterator
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from benanza.gating.results import Gate
from benanza.render.answers.gate import checked, line, name
from benanza.render.table import printable
from benanza.writable import unwritable

SUITE = "benanza gate"


def write_junit(gate: Gate, path: Path) -> None:
    """Writes a test for each limit of each run: a limit that fails is a failure, and one that can't
    be checked an error. Raises `BenanzaError` if the file can't be written.
    """
    suite = TestSuite(SUITE)
    suite.add_testcases(list(_tests(gate)))
    document = JUnitXml()
    document.add_testsuite(suite)
    try:
        document.write(str(path), pretty=True)
    except OSError as error:
        raise unwritable(path, error) from error


def _tests(gate: Gate) -> Iterator[TestCase]:
    for run in gate.runs:
        for check in run.checks:
            test = TestCase(printable(f"{name(run)}: {check.limit}"), printable(run.framework))
            said = printable(checked(check))
            if check.verdict == "fails":
                test.result = Failure(said)
            elif check.verdict == "unknown":
                test.result = Error(said)
            test.system_out = line(run)
            yield test
    for failed in gate.errors:
        test = TestCase(printable(failed.model), SUITE)
        test.result = Error(printable(failed.reason))
        yield test
