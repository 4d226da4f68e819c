"""What GitHub reads: workflows and forms are of its schemas, and run what is there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import ROOT

SCHEMAS = {
    "workflows/campaign.yml": "github-workflows",
    "workflows/ci.yml": "github-workflows",
    "workflows/release.yml": "github-workflows",
    "ISSUE_TEMPLATE/config.yml": "github-issue-config",
    "ISSUE_TEMPLATE/defect.yml": "github-issue-forms",
    "ISSUE_TEMPLATE/lacking.yml": "github-issue-forms",
    "ISSUE_TEMPLATE/wrong-bound.yml": "github-issue-forms",
}
GITHUB = ROOT / ".github"


@pytest.mark.parametrize(("name", "schema"), SCHEMAS.items())
def test_each_file_is_of_its_schema(name: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, GITHUB / name], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_no_file_is_left_out() -> None:
    assert {str(path.relative_to(GITHUB)) for path in GITHUB.rglob("*.yml")} == set(SCHEMAS)


def test_a_release_builds_the_images_that_are_there() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows/release.yml").read_text())["jobs"]
    services = set(jobs["images"]["strategy"]["matrix"]["service"])
    assert services == {path.parent.name for path in Path(ROOT, "services").glob("*/Dockerfile")}


def test_a_campaign_has_a_job_for_each_of_its_targets() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows/campaign.yml").read_text())
    targets = workflow["jobs"]["campaign"]["strategy"]["matrix"]["target"]
    (made,) = re.findall(r"^CAMPAIGNS := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [f"campaign-{target}" for target in targets] == made.split()
    (packages,) = re.findall(r"^packages=\((.+)\)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert any(packages in step.get("run", "") for step in workflow["jobs"]["campaign"]["steps"])


def test_citations_name_the_version_of_the_program() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    assert all(re.fullmatch(r"10\.\d{4}/\S+", paper["doi"]) for paper in cited["references"])
