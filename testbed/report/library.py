"""The charting library that a page embeds: uPlot, as the package uplot-python has it.

It is read from where it is installed, and never imported: the Python around it would
bring all of IPython along. Start with chart_library.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from testbed.errors import Unavailable

_PACKAGE = "uplot"
_SCRIPT, _STYLE = "static/uPlot.iife.js", "static/uPlot.min.css"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The text of a library's script, its licence on top, and of its style sheet."""

    script: str
    style: str


def chart_library() -> Library:
    """Return uPlot. Raises Unavailable where its package is not installed."""
    found = find_spec(_PACKAGE)
    places = found.submodule_search_locations if found else None
    folder = Path(next(iter(places or ("",))))
    try:
        return Library(
            script=(folder / _SCRIPT).read_text(encoding="utf-8"),
            style=(folder / _STYLE).read_text(encoding="utf-8"),
        )
    except OSError as error:
        raise Unavailable(
            f"the page's charting library is not installed (no {_PACKAGE}/{_SCRIPT})",
            remedy="pip install uplot-python",
        ) from error
