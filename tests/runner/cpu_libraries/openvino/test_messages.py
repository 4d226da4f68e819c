"""What OpenVINO says, without places in its source."""

import pytest

from benanza_runner.cpu_libraries.openvino.messages import said

UNKNOWN = """Exception from src/inference/src/cpp/core.cpp:105:
Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:
FrontEnd API failed with OpConversionFailure:
Model wasn't fully converted.
Summary:
-- No conversion rule found for operations: com.microsoft.GatedRMSNorm
To facilitate the conversion of unsupported operations, refer to Frontend Extension documentation: x
"""
UNSUPPORTED = """Exception from src/inference/src/cpp/core.cpp:105:
Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:
FrontEnd API failed with OpConversionFailure:
Model wasn't fully converted. Failed operations detailed log:
-- Pad-21 with a message:
While validating ONNX node '<Node(Pad): 0/0>': Exception from src/op/pad.cpp:32:
Unsupported padding mode: [wrap]

Summary:
-- Conversion is failed for: Pad-21
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (UNKNOWN, "No conversion rule found for operations: com.microsoft.GatedRMSNorm"),
        (UNSUPPORTED, "Unsupported padding mode: [wrap]"),
        ("plain\nwords", "plain words"),
        ("", "RuntimeError"),
    ],
)
def test_the_words_are_left(text: str, words: str) -> None:
    assert said(RuntimeError(text)) == words
