"""How a framework is found, and what is said where it can't be."""

from types import SimpleNamespace

import pytest

from benanza.profiling import framework
from benanza_backbone.errors import BenanzaError


def test_who_lacks_a_framework_is_told_which_extra_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> None:
        raise ModuleNotFoundError("No module named 'fast'", name="fast")

    extras = SimpleNamespace(get_all=lambda _: ["docs", "cpu"])
    requires = ["slow>=1", "mkdocs; extra == 'docs'", "fast>=2; extra == 'cpu'"]
    dist = SimpleNamespace(name="package", metadata=extras, requires=requires)
    entry = SimpleNamespace(name="quick", dist=dist, load=load)
    monkeypatch.setattr(framework, "entry_points", lambda **_: [entry])
    with pytest.raises(BenanzaError, match=r"pip install 'package\[cpu\]'"):
        framework.framework_named("quick")
    requires.pop()
    with pytest.raises(BenanzaError, match="install it"):
        framework.framework_named("quick")
