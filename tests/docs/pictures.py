"""Makes the pictures of the report in docs/images: `python -m tests.docs.pictures` or `make
pictures`.

They are of bounds by the recordings of an H200, with runs by ONNX Runtime and PyTorch, at two
widths, on light and on dark pages, as Debian's Chromium shows them.
"""

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benanza.publishing.publish import PublishRequest, publish
from benanza.report.report import report
from benanza_backbone.settings import Settings, load
from tests.benanza.recorded import import_of
from tests.benanza.report.viewing import opened
from tests.browser import chromium

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "images"
RECORDINGS = [
    ROOT / "recordings" / f"nvidia-h200{part}.xz"
    for part in ("", "-zoo", "-ceilings", "-runs", "-pytorch")
]
MODELS = ("resnet50", "torchvision:resnet50", "transformers:gpt2-small")

WIDTHS = (1400, 375)
SCHEMES = ("light", "dark")
MOST_HIGH = 1000
QUALITY = 70


class Picture(NamedTuple):
    """What a picture shows: from the top of the first element of a page to the end of the last one,
    by CSS selectors, in the report of `model`; of all models if that is empty.
    """

    name: str
    begin: str
    end: str
    model: str = "resnet50"


PICTURES = (
    Picture("top", "header", "#ladder-0 + table", "torchvision:resnet50"),
    Picture("contents", "header", "#contents", ""),
    Picture("todo", "#todo-0", "#ladder-0 + table"),
    Picture("timeline", "#figure-timeline-0", "#figure-timeline-0"),
    Picture("flame", "#figure-flame-0", "#figure-flame-0", "transformers:gpt2-small"),
    Picture("roofline", "#figure-roofline-0", "#figure-roofline-0"),
    Picture("memory", "#figure-memory-0", "#figure-memory-0"),
    Picture("graph", "#figure-graph-0", "#figure-graph-0"),
    Picture("calls", "#calls-0", "#calls-0 + div"),
)


def recorded(folder: Path) -> Settings:
    """A data folder in which these models have bounds by the recordings."""
    settings = load({"BENANZA_DATA": str(folder)})
    import_of([(model, 1) for model in MODELS], RECORDINGS, settings)
    publish([f"zoo:{model}" for model in MODELS], PublishRequest(), settings)
    return settings


def taken(browser: Any, picture: Picture) -> bytes:
    """The part of the page as WebP."""
    begin, end, width = browser.execute_script(
        """
        const [begin, end] = [...arguments].map((each) =>
          document.querySelector(each).getBoundingClientRect());
        return [begin.top + scrollY, end.bottom + scrollY, document.documentElement.clientWidth];
        """,
        picture.begin,
        picture.end,
    )
    clip = {"x": 0, "y": max(0, begin - 12), "width": width, "scale": 1}
    shot = browser.execute_cdp_cmd(
        "Page.captureScreenshot",
        {
            "format": "webp",
            "quality": QUALITY,
            "captureBeyondViewport": True,
            "clip": clip | {"height": min(end - begin + 24, MOST_HIGH)},
        },
    )
    return base64.b64decode(shot["data"])


def main() -> None:
    """Writes all pictures, and says how large they are."""
    with tempfile.TemporaryDirectory() as folder:
        make(recorded(Path(folder) / "data"), Path(folder))
    size = sum(file.stat().st_size for file in FOLDER.glob("report-*"))
    sys.stdout.write(f"{size / 1e6:.2f} MB in {FOLDER.relative_to(ROOT)}\n")


def make(settings: Settings, folder: Path) -> None:
    """Writes all pictures of what is known there; the reports go into the folder."""
    FOLDER.mkdir(exist_ok=True)
    files: dict[str, Path] = {}
    for model in dict.fromkeys(picture.model for picture in PICTURES):
        files[model] = folder / f"{len(files)}.html"
        models = [f"zoo:{each}" for each in ([model] if model else MODELS)]
        report(settings, models, ["fp16"], {}, None, files[model])
    with chromium(folder / "chromium") as browser:
        for width in WIDTHS:
            for scheme in SCHEMES:
                for model, file in files.items():
                    opened(browser, file, width=width, scheme=scheme)
                    for picture in (each for each in PICTURES if each.model == model):
                        name = f"report-{picture.name}-{scheme}-{width}.webp"
                        (FOLDER / name).write_bytes(taken(browser, picture))


if __name__ == "__main__":
    main()
