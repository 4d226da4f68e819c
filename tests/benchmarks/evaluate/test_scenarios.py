"""The table of models under load."""

from benchmarks.evaluate.scenarios import LoadedRun, ordered


def test_results_that_were_not_asked_for_are_left_out() -> None:
    kept = [
        LoadedRun("zoo:b", "onnxruntime", "offline", 0),
        LoadedRun("zoo:other", "onnxruntime", "offline", 0),
        LoadedRun("zoo:a", "onnxruntime", "server", 0),
        LoadedRun("zoo:a", "pytorch", "server", 0),
    ]
    found = ordered(kept, ["zoo:a", "zoo:b"], ["onnxruntime"])
    assert [each.model for each in found] == ["zoo:a", "zoo:b"]
