"""The shape of the package: which way imports point, and how long a function may be."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "testbed"

#: Lowest first. A module imports from lower rows and its own package, never a sibling.
LAYERS = (
    {"errors"},
    {"units"},
    {"process", "user", "files"},
    {"compiled", "held"},
    {"spec", "trace"},
    {"facts", "ratio", "account"},
    {"verdict"},
    {"model", "kernels", "store", "mail"},
    {"measured"},
    {"predicted", "values"},
    {"real_time"},
    {"machine", "lab", "claims"},
    {"report", "lab_job"},
    {"pipeline", "export", "inspected", "progress", "clean", "doctor"},
    {"choosing", "sweep"},
    {"cli"},
    {"__main__"},
)
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}
MAX_LINES = 40

MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]
each_module = pytest.mark.parametrize(
    "path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES]
)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def layers_imported(tree: ast.Module) -> set[str]:
    """Name the layers that a module imports, wherever in it the imports stand."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("testbed.")}


@each_module
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for other in layers_imported(parsed(path)) - {own}:
        assert LEVEL[other] < LEVEL[own], f"{own} must not import {other}"


@each_module
def test_functions_are_short(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= MAX_LINES, f"{node.name} is {length} lines long"
