"""The process that fetches is confined, and still reaches all that models are fetched from."""

from hashlib import sha256
from pathlib import Path

import pytest

from benanza_backbone.confining import landlock
from benanza_backbone.model_sources import parse_sources
from benanza_ingest.errors import ModelError
from benanza_ingest.isolation.isolated_ingest import IsolatedIngest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import Allowed
from benanza_schemas.events import ModelPublished
from tests.backbone.certificates import certificate
from tests.ingest.isolation import misbehaving
from tests.ingest.reading.model_server import model_server
from tests.ingest.real_models import content
from tests.object_store import BUCKET, object_store_server

pytestmark = pytest.mark.integration

LIMITS = Limits()
MODEL = content("zfnet512")


def at(uri: str) -> ModelPublished:
    return ModelPublished(
        event_id="0" * 32, name="model", sha256=sha256(MODEL).hexdigest(), uri=uri
    )


def test_servers_and_object_stores_are_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cert = certificate(tmp_path, "server")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    with (
        model_server({"/m.onnx": MODEL}, tls=(cert, key)) as (server, _),
        object_store_server(monkeypatch) as store,
    ):
        store.put_object(Bucket=BUCKET, Key="m.onnx", Body=MODEL)
        named = f"https://localhost:{server.rpartition(':')[2]}"
        allowed = Allowed(parse_sources(f"{server},{named},s3://{BUCKET},https://nobody.invalid"))
        with IsolatedIngest(allowed) as ingest:
            found = ingest(at(f"{server}/m.onnx"), LIMITS)
            assert ingest(at(f"s3://{BUCKET}/m.onnx"), LIMITS) == found
            # The name is found, and the certificate is another's.
            with pytest.raises(ModelError, match="SSLError"):
                ingest(at(f"{named}/m.onnx"), LIMITS)
            with pytest.raises(ModelError, match="gaierror"):
                ingest(at("https://nobody.invalid/m.onnx"), LIMITS)


def test_a_model_of_the_zoo_needs_no_network() -> None:
    with IsolatedIngest(Allowed(())) as ingest:
        assert ingest(at("zoo:zfnet512"), LIMITS)


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_only_the_folders_of_models_are_read(tmp_path: Path) -> None:
    for folder in ("models", "secrets"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.onnx").write_bytes(MODEL)
    allowed = Allowed(parse_sources((tmp_path / "models").as_uri()))
    # This one doesn't look whether a path is allowed, as one that was taken over.
    with IsolatedIngest(allowed, module=misbehaving.__name__) as ingest:
        assert ingest(at((tmp_path / "models" / "m.onnx").as_uri()), LIMITS)
        for secret in (tmp_path / "secrets" / "m.onnx", Path("/proc/self/environ")):
            with pytest.raises(ModelError, match="can't be read: Permission denied"):
                ingest(at(secret.as_uri()), LIMITS)
