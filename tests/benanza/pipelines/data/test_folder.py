"""Folders of images as data sets."""

import hashlib
import os
from pathlib import Path

import pytest

from benanza.pipelines.data.folder import ImageFolder
from benanza.pipelines.failing import FailedSampleError
from benanza_backbone.errors import BenanzaError
from tests.benanza.pipelines.conftest import DIGITS
from tests.benanza.pipelines.data.data_set_contract import DataSetContract

JPEGS = [file.read_bytes() for file in sorted((DIGITS / "images").glob("*/*"))[:4]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names = ("b/2.jpg", "b/1.jpg", "a/2.jpg", "a/1.jpg")
    for name, content in zip(names, JPEGS, strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "a" / "3.jpg").symlink_to(tmp_path / "nowhere")
    (tmp_path / "a" / ".hidden").touch()
    (tmp_path / "README").touch()
    return tmp_path


class TestImageFolder(DataSetContract):
    @pytest.fixture
    def data(self, folder: Path) -> ImageFolder:
        return ImageFolder(folder)

    @pytest.fixture
    def again(self, folder: Path) -> ImageFolder:
        return ImageFolder(folder)


def test_the_digest_is_of_what_sha256sum_prints(folder: Path) -> None:
    (folder / "a" / "3.jpg").unlink()
    lines = "".join(
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n"
        for name in ("a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg")
    )
    data = ImageFolder(folder)
    assert data.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    (folder / "b" / "2.jpg").rename(folder / "a" / "4.jpg")
    assert ImageFolder(folder).sha256 != data.sha256


def test_names_that_are_not_unicode_are_in_the_digest_as_their_bytes(folder: Path) -> None:
    (folder / "a" / "3.jpg").rename(folder / os.fsdecode(b"a/\xe9.jpg"))
    names = (b"a/1.jpg", b"a/2.jpg", b"a/\xe9.jpg", b"b/1.jpg", b"b/2.jpg")
    files = [folder / os.fsdecode(name) for name in names]
    digests = [
        hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "-" * 64
        for file in files
    ]
    lines = [f"{digest}  ".encode() + name for digest, name in zip(digests, names, strict=True)]
    expected = hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()
    assert ImageFolder(folder).sha256 == expected


def test_a_class_that_no_specification_can_name_is_refused(folder: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9")).mkdir()
    with pytest.raises(BenanzaError, match="isn't UTF-8; rename it"):
        ImageFolder(folder)


def test_what_is_no_folder_of_classes_is_said(folder: Path) -> None:
    for wrong, said in ((folder / "none", "can't be read"), (folder / "a", "has no images")):
        with pytest.raises(BenanzaError, match=said):
            ImageFolder(wrong)
    (folder / "b" / "c").mkdir()
    with pytest.raises(BenanzaError, match="is a folder in that of a class"):
        ImageFolder(folder)


def test_a_file_that_is_gone_meanwhile_fails(folder: Path) -> None:
    data = ImageFolder(folder)
    (folder / "a" / "1.jpg").unlink()
    with pytest.raises(FailedSampleError, match="the file can't be read: No such file"):
        data.content(data.samples[0])
