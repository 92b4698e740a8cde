"""Write the tables of docs/model.md from tools/history.py: make docs."""

from pathlib import Path

from tools.history import commit_table, rule_table

DOC = Path(__file__).parent.parent / "docs/model.md"


def with_tables(text: str) -> str:
    """Return the page with its two tables as they should be."""
    for name, table in (("rules", rule_table()), ("commits", commit_table())):
        before, rest = text.split(f"<!-- {name} -->\n")
        after = rest.split(f"<!-- end of {name} -->")[1]
        text = f"{before}<!-- {name} -->\n{table}\n<!-- end of {name} -->{after}"
    return text


if __name__ == "__main__":
    DOC.write_text(with_tables(DOC.read_text()))
