"""The objects of Kubernetes that deploy/kubernetes renders to."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.compose import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"

KUSTOMIZE = ["go", "run", "sigs.k8s.io/kustomize/kustomize/v5@v5.4.3", "build"]

OLDEST, NEWEST = "1.32", "1.37"
"""The versions of Kubernetes that the document names."""

CAN_RENDER = bool(shutil.which("kubectl") or shutil.which("go"))

Manifest = dict[str, Any]


def rendered(folder: Path = FOLDER) -> list[Manifest]:
    """What Kustomize makes of a folder."""
    return objects_of(["kubectl", "kustomize"] if shutil.which("kubectl") else KUSTOMIZE, folder)


def objects_of(command: list[str], folder: Path, *options: str) -> list[Manifest]:
    """What a program that renders a folder prints."""
    done = subprocess.run(
        [*command, str(folder), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def of_kind(kind: str, manifests: list[Manifest]) -> dict[str, Manifest]:
    """The objects of a kind by their names."""
    return {each["metadata"]["name"]: each for each in manifests if each["kind"] == kind}


def container_of(pod: Manifest) -> Manifest:
    """The only one of a pod."""
    (container,) = pod["spec"]["containers"]
    found: Manifest = container
    return found
