"""A mark for tests of the layout NCHWc, which ONNX Runtime has on some processors."""

import pytest

from benanza_runner.onnxruntime.blocked import block_size

needs_blocks = pytest.mark.skipif(
    not block_size(), reason="ONNX Runtime has no layout NCHWc on this processor"
)
