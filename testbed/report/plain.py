"""Text for a terminal that may come of a file which is not to be trusted."""


def printable(text: str) -> str:
    """Return a text in which what steers a terminal is written out."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text
    )
