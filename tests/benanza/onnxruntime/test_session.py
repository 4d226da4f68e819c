"""A session of a whole model in half precision."""

import numpy as np
import pytest

from benanza.onnxruntime.options import ON_CPU
from benanza.onnxruntime.session import called, in_type, options_of
from tests.benanza.profiling.framework_contract import small_model


@pytest.mark.integration
def test_a_model_in_half_precision_gives_nearly_the_same() -> None:
    model = small_model()
    results = [
        called(typed, ON_CPU[0], "fp32", options_of(typed, ON_CPU[0], 1), on_gpu=False).run()[0]
        for typed in (model, in_type(model, "fp16"))
    ]
    assert results[1].dtype == np.float16
    norm = np.linalg.norm(results[0])
    assert np.linalg.norm(results[1].astype(np.float32) - results[0]) < 0.01 * norm


def test_other_precisions_leave_the_model_as_it_is() -> None:
    model = small_model()
    assert in_type(model, "tf32") is model
