"""A plain page of parts: what compare and sweep write.

One file, no network, no script; light and dark, for phone and paper. All that is text
is escaped by the template; pictures alone are markup. Start with render_sheet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from testbed.report.grid import Grid

_TEMPLATE = Path(__file__).with_name("sheet.html.j2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture as SVG. alt: the same in words, for who cannot see it."""

    name: str
    svg: str
    alt: str
    caption: str

    @property
    def markup(self) -> Markup:
        """The picture, which no template must escape."""
        return Markup(self.svg)  # noqa: S704  # of plots.py, which escapes


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A heading ("" for none) and what is below it. preformatted: lines as typed."""

    title: str
    lines: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    grids: tuple[Grid, ...] = ()
    preformatted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A page: its title, what is to be known first, and its parts."""

    title: str
    lines: tuple[str, ...]
    parts: Sequence[Part]


def render_sheet(sheet: Sheet) -> str:
    """Return the page as HTML, the same bytes for the same sheet."""
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(sheet=sheet)
