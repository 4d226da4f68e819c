"""`export`: PyTorch models that have names, as ONNX files without weights."""

from pathlib import Path

from benanza.pytorch.names import resolved
from benanza_backbone.errors import BenanzaError
from benanza_runner.reasons import short_reason


def export(name: str, batch: int, path: Path) -> int:
    """Writes the export of the model with this name, and returns its number of nodes.

    Raises `BenanzaError` if no model has the name, if PyTorch or the model's package is missing,
    if PyTorch can't export the model, or if the file can't be written.
    """
    try:
        names = resolved(name)
    except ValueError as error:
        raise BenanzaError(str(error)) from error
    if len(names) != 1:
        raise BenanzaError(f"{name} stands for {len(names)} models; name one, such as {names[0]}")
    try:
        from benanza.pytorch.export import export as exported  # It needs an extra.

        model = exported(names[0], batch)
    except ImportError as error:
        raise BenanzaError(
            f"PyTorch models can't be exported: {error}; say: pip install 'benanza[pytorch]'"
        ) from error
    except Exception as error:
        raise BenanzaError(
            short_reason(f"{name} can't be exported: {_first_cause(error)}")
        ) from error
    try:
        path.write_bytes(model.SerializeToString())
    except OSError as error:
        raise BenanzaError(f"can't write {path} ({error.strerror}); name another file") from error
    return len(model.graph.node)


def _first_cause(error: BaseException) -> str:
    """PyTorch's exporter wraps what went wrong in pages of advice."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"
