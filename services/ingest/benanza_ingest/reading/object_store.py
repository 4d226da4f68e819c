"""Objects in a store with the S3 API, by addresses such as `s3://BUCKET/KEY`.

Which store that is, and the credentials for it, is found as by any program that uses AWS's SDK: in
`AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and so on, in `~/.aws`, or from the machine's own role. So
an address holds no signature, and may stay in a topic for ever. It needs the extra `s3`.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.reading.download import CONNECT_SECONDS, READ_SECONDS, Read
from benanza_ingest.reading.object_address import PREFIX, ObjectAddress

REMEDY = (
    "check the address, AWS_ENDPOINT_URL, and the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE …)"
)

_TRIES = 3


class StoreError(Exception):
    """A store doesn't do what it was asked; the text is the reason, such as `AccessDenied`."""


@contextmanager
def object_store() -> Iterator[Any]:
    """boto3's client of the store that the environment names.

    What goes wrong inside is raised as `StoreError`, if it is the store's or the network's fault,
    or if there are no credentials. Raises `ModelError` if the extra isn't installed.
    """
    try:
        import boto3  # It needs an extra.
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise ModelError(f"s3:// can't be used: {error}; say: pip install 'benanza[s3]'") from error
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": _TRIES, "mode": "standard"},
    )
    try:
        try:
            client = boto3.Session().client("s3", config=config)
        except ValueError as error:  # AWS_ENDPOINT_URL is no address
            raise StoreError(str(error)) from error
        with closing(client):
            yield client
    except ClientError as error:
        raise StoreError(str(error.response["Error"]["Code"])) from error
    except BotoCoreError as error:
        raise StoreError(type(error).__name__) from error


def check_bucket(bucket: str) -> None:
    """Raises `ModelError` unless the bucket is there, for these credentials."""
    try:
        with object_store() as client:
            client.head_bucket(Bucket=bucket)
    except StoreError as error:
        raise ModelError(f"{PREFIX}{bucket} can't be used ({error}); {REMEDY}") from error


@contextmanager
def opened_object(address: ObjectAddress) -> Iterator[Read]:
    """What reads an object. Raises `ModelError` if it can't be had."""
    try:
        with object_store() as client:
            response = client.get_object(Bucket=address.bucket, Key=address.key)
            with response["Body"] as body:
                yield body.read
    except StoreError as error:
        raise UnfetchedError(f"{address} can't be fetched ({error})", REMEDY) from error
