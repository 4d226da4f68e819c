"""Uploads files that are too large for an event to an object store, from where ingest fetches them.

Objects are named by the SHA-256 of the file, so what is published again is there already.
"""

import base64
from pathlib import Path
from typing import Any

from benanza_backbone.errors import BenanzaError
from benanza_backbone.model_sources import BucketSource
from benanza_ingest.reading.object_address import ObjectAddress
from benanza_ingest.reading.object_store import REMEDY, StoreError, object_store


def uploaded(path: Path, sha256: str, to: BucketSource) -> str:
    """The address `s3://BUCKET/KEY` of the file in the store. Uploads it unless it is there.

    The store checks the SHA-256 (hexadecimal), if it can; ingest does in any case. Raises
    `BenanzaError` if the file can't be read or uploaded.
    """
    address = ObjectAddress(to.bucket, f"{to.prefix}/{sha256}.onnx".removeprefix("/"))
    try:
        with object_store() as client, path.open("rb") as file:
            if _size(client, address) != path.stat().st_size:
                client.put_object(
                    Bucket=address.bucket,
                    Key=address.key,
                    Body=file,
                    ChecksumSHA256=base64.b64encode(bytes.fromhex(sha256)).decode(),
                )
    except StoreError as error:
        raise BenanzaError(f"{path} can't be uploaded to {address} ({error}); {REMEDY}") from error
    except OSError as error:
        raise BenanzaError(f"{path} can't be read: {error.strerror or error}") from error
    return str(address)


def _size(client: Any, address: ObjectAddress) -> int | None:
    """The bytes of the object, None if there is none that may be looked at."""
    from botocore.exceptions import ClientError  # It needs an extra, which the client is of.

    try:
        size: int = client.head_object(Bucket=address.bucket, Key=address.key)["ContentLength"]
    except ClientError as error:
        # Who may not list a bucket isn't told that an object is missing.
        if error.response["ResponseMetadata"]["HTTPStatusCode"] in (403, 404):
            return None
        raise
    return size
