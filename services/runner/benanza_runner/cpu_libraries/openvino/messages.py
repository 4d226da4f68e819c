"""What OpenVINO's errors say, without where in its source they come from."""

import re

_LEFT_OUT = re.compile(
    r"Exception from \S+:\d+:|Check '.*' failed at \S+:\d+:|FrontEnd API failed with \w+:|"
    r"While validating ONNX node '.*?>':|While validating node '.*' with friendly_name '.*':|"
    r"Model wasn't fully converted\.( Failed operations .*)?|-- \S+ with a message:|Summary:|"
    r"-- Conversion is failed for: .*|To facilitate the conversion .*"
)


def said(error: Exception) -> str:
    """An error in words, in one line; the type of one that says nothing."""
    line = " ".join(_LEFT_OUT.sub("", str(error)).split())
    return line.removeprefix("-- ") or type(error).__name__
