"""What is known of OpenVINO where it isn't installed."""

import subprocess
import sys

from benanza.openvino.options import OpenVinoRemedies
from benanza.profiling.remedies import remedies_of


def test_remedies_do_without_openvino() -> None:
    program = "import benanza.openvino.options, sys; sys.exit('openvino' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_remedies_name_what_to_change() -> None:
    remedies = remedies_of("openvino")
    assert isinstance(remedies, OpenVinoRemedies)
    found = remedies.remedy("conversions and copies", "Reorder", "latency hint", on_gpu=False)
    assert found is not None
    assert "channels last" in found.do
    assert remedies.remedy("slower call", "Convolution", "latency hint", on_gpu=False) is None
    assert remedies.better("latency hint", on_gpu=False) is None
