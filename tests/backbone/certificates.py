"""Certificates for tests."""

import subprocess
from pathlib import Path


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A key, and a certificate of this machine's loopback that it signs itself, as PEM files."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    command = f"""openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN={name}
        -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {cert}"""
    subprocess.run(command.split(), check=True, capture_output=True)
    return key, cert
