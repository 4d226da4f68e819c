"""The GPU tests run where there is a GPU with its libraries, and say so where there isn't."""

import pytest

from benanza_runner.cuda.available import why_unavailable
from benanza_runner.runtime import Runtime


@pytest.fixture(scope="session")
def cuda() -> Runtime:
    """The runtime itself, in this process."""
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(f"the GPU runtime {reason}")
    from benanza_runner.cuda.runtime import CudaRuntime

    return CudaRuntime(plans=4, algorithms=4)
