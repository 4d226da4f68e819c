"""Prints what an image has to install: the project's dependencies, but for those named.

    python deploy/requirements.py [--without NAME...]

Each service's image leaves out what that service never imports, which is most of the bytes.
A name that is no dependency is an error, so that a Dockerfile can't go on naming what is gone.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Reads pyproject.toml in the current folder, and prints a requirement a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME")
    unwanted = set(parser.parse_args().without)
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    named = {re.split(r"[\[<>=~!; ]", text)[0]: text for text in project["dependencies"]}
    if unknown := unwanted - named.keys():
        parser.error(f"no dependency of the project: {', '.join(sorted(unknown))}")
    sys.stdout.writelines(f"{text}\n" for name, text in named.items() if name not in unwanted)


if __name__ == "__main__":
    main()
