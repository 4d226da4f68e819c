"""Addresses of objects in a store with the S3 API: `s3://BUCKET/KEY`."""

from typing import NamedTuple

from benanza_ingest.errors import ModelError

PREFIX = "s3://"


class ObjectAddress(NamedTuple):
    """The bucket and the key of an object."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.bucket}/{self.key}"


def object_address(address: str) -> ObjectAddress:
    """The object that `s3://BUCKET/KEY` names. The key stands there as it is, without escapes.

    Raises `ModelError` if it names none, or one that a store which keeps objects as files might
    take for another.
    """
    bucket, _, key = address.removeprefix(PREFIX).partition("/")
    if not address.startswith(PREFIX) or not bucket or not key:
        raise ModelError(f"{address} names no object; write s3://BUCKET/KEY")
    if {".", ".."} & set(key.split("/")):
        raise ModelError(f"{address} has . or .. in its key; give the object another key")
    return ObjectAddress(bucket, key)
