"""Data sets that the package `datasets` of Hugging Face loads, with a column of images."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from benanza.pipelines.data.data_set import DataSet, Sample
from benanza.pipelines.failing import FailedSampleError, needed
from benanza.pipelines.specification import PipelineData
from benanza_backbone.errors import BenanzaError

EXTRA = "datasets"


class HuggingFaceDataSet(DataSet):
    """A split of a data set: of a folder that `save_to_disk` wrote, or by its name on a hub.

    The image's column has to be of the feature Image, whose files are taken as they are; the
    label's of ClassLabel. Raises `BenanzaError` for others, and if there is no such data set.
    """

    def __init__(self, data: PipelineData, folder: Path) -> None:
        datasets = needed("datasets", "datasets", EXTRA)
        path = folder / data.source
        try:
            if path.is_dir():
                loaded = datasets.load_from_disk(str(path))
            else:
                loaded = datasets.load_dataset(
                    data.source, split=data.split or None, revision=data.revision or None
                )
        except Exception as error:  # that library's errors share no narrower base
            first = str(error).strip().splitlines()[:1]
            raise BenanzaError(
                f"datasets can't load {data.source}: {''.join(first)}; mend source and split"
            ) from error
        if isinstance(loaded, datasets.DatasetDict):
            if data.split not in loaded:
                raise BenanzaError(f"{data.source} has the splits {', '.join(loaded)}; name one")
            loaded = loaded[data.split]
        self._image = _column("image", data.image, datasets.Image, loaded.features)
        label = _column("label", data.label, datasets.ClassLabel, loaded.features)
        self._names = loaded.features[label].names
        self._labels = loaded[label][:]
        self._files = loaded.cast_column(self._image, datasets.Image(decode=False))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the label's feature."""
        return tuple(self._names)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The rows, named by their numbers. One without a label has an empty one."""
        return tuple(
            Sample(row, str(row), "" if label is None or label < 0 else self._names[label])
            for row, label in enumerate(self._labels)
        )

    def content(self, sample: Sample) -> bytes:
        """The bytes of the image's file, or of the file that the row names."""
        image = self._files[sample.position][self._image]
        if image is None:
            raise FailedSampleError("the row has no image")
        if image["bytes"] is not None:
            return bytes(image["bytes"])
        try:
            return Path(image["path"]).read_bytes()
        except OSError as error:
            raise FailedSampleError(f"the file can't be read: {error.strerror}") from error


def _column(key: str, name: str, kind: type, features: Mapping[str, object]) -> str:
    """The column of this name, or the only one of this kind if no name is given."""
    known = [column for column, feature in features.items() if isinstance(feature, kind)]
    if name in known:
        return name
    if not name and len(known) == 1:
        return known[0]
    lacks = f"no column {name!r}" if name else f"{len(known) or 'no'} columns"
    raise BenanzaError(
        f"the data set has {lacks} of the feature {kind.__name__}; set {key} in [data] to one of "
        f"{', '.join(known or features)}"
    )
