import importlib.util
import sys

import pytest

from testbed.errors import Unavailable
from testbed.report import library
from testbed.report.library import chart_library


def test_the_library_keeps_its_licence_and_names_itself() -> None:
    found = chart_library()

    assert "MIT Licensed" in found.script[:200]
    assert "var uPlot = " in found.script
    assert ".uplot" in found.style


def test_nothing_of_its_python_is_imported() -> None:
    chart_library()

    assert "IPython" not in sys.modules


@pytest.mark.parametrize("instead", [None, importlib.util.find_spec("email")])
def test_without_its_package_the_remedy_is_told(
    instead: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda _name: instead)

    with pytest.raises(Unavailable) as caught:
        chart_library()

    assert caught.value.remedy == "pip install uplot-python"
