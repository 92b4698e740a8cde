"""Grid: a table of texts, for the terminal and the page alike."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of texts. folded: whether it is long and opened on demand."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False
