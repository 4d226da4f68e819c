"""An object store with the S3 API on the loopback interface, which speaks HTTP as any other."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
import urllib3

BUCKET = "models"


@contextmanager
def object_store_server(environment: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a server with an empty bucket. The environment says where the server is, to
    this process and to those that it starts.
    """
    from moto.server import ThreadedMotoServer  # takes a second, which most workers save

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        # What a server holds belongs to the process, so an earlier test's is there.
        urllib3.request("POST", f"http://{host}:{port}/moto-api/reset")
        # By a name, as in a deployment: buckets are part of the path there as well.
        environment.setenv("AWS_ENDPOINT_URL_S3", f"http://localhost:{port}")
        environment.setenv("AWS_ACCESS_KEY_ID", "id")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        client = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
        client.create_bucket(Bucket=BUCKET)
        yield client
        client.close()
    finally:
        server.stop()
