"""Kernel against kernel: what the report says differs, and what it says does not."""

from dataclasses import replace
from pathlib import Path

from builders import IDENTITY
from report.builders import all_void, experiment, printed, result

from testbed.export.contract import comparisons_json
from testbed.report.drawn import draw
from testbed.report.kernels import kernel_grids, kernel_lines
from testbed.report.page import render
from testbed.report.result import Result
from testbed.spec.kernel import KernelIdentity

MINE = "my.patch 9876543210fe"
PATCHED = replace(
    IDENTITY,
    name="6.12+my.patch",
    build_id="ef" * 20,
    patches=(*IDENTITY.patches, MINE),
)


def on_kernels(
    folder: Path, *kernels: KernelIdentity, alone: bool = True, names=("a", "b")
) -> Result:
    """Return a result whose two variants ran on these; alone: and are alike."""
    of = result(folder, names, ())
    variants = of.experiment.variants
    if alone:
        variants = (variants[0], replace(variants[0], name=names[1]))
    spec = replace(of.experiment, variants=variants)
    runs = tuple(
        replace(each, run=replace(each.run, kernel=kernel, experiment=spec))
        for each, kernel in zip(of.runs, kernels, strict=True)
    )
    return replace(of, experiment=spec, runs=runs)


def test_one_kernel_is_not_compared(tmp_path: Path) -> None:
    alike = on_kernels(tmp_path, IDENTITY, IDENTITY)

    assert kernel_lines(alike) == ()
    assert list(kernel_grids(alike, 2)) == []
    assert comparisons_json([alike]) == []


def test_the_kernel_alone_is_said_with_what_it_is_and_what_is_the_same(
    tmp_path: Path,
) -> None:
    lines = kernel_lines(on_kernels(tmp_path, IDENTITY, PATCHED))

    assert lines == (
        "the variants differ in their kernel alone",
        "  a: 6.12",
        f"  b: 6.12+my.patch, with {MINE}",
        "  the same: architecture, release, source, .config, compiler, 1 patch, "
        "machine, seed, topology, path, workload and every setting and switch",
    )


def test_what_differs_beside_the_kernel_is_named(tmp_path: Path) -> None:
    more = on_kernels(tmp_path, IDENTITY, PATCHED, alone=False)

    lines = kernel_lines(more)

    assert lines[0] == "the variants differ in their kernel and in switches.autosize;"
    assert "--kernel a=... --kernel b=... compares kernels alone" in lines[1]
    assert "every setting" not in lines[-1]
    assert comparisons_json([more]) == [
        {
            "experiment": "tso",
            "kernel_alone": False,
            "also_differ": ["switches.autosize"],
        }
    ]


def test_another_seed_is_not_the_kernel_alone(tmp_path: Path) -> None:
    alike = on_kernels(tmp_path, IDENTITY, PATCHED)
    other = replace(alike.runs[1], run=replace(alike.runs[1].run, seed=2))

    lines = kernel_lines(replace(alike, runs=(alike.runs[0], other)))

    assert lines[0] == "the variants differ in their kernel and in seed;"


def test_all_that_tells_two_kernels_apart_is_told(tmp_path: Path) -> None:
    other = replace(PATCHED, release="7.3.4", source="a tree", compiler="gcc 99")

    lines = kernel_lines(on_kernels(tmp_path, IDENTITY, other))

    assert lines[1:4] == (
        "  a: 6.12, 6.12.117",
        f"  b: 6.12+my.patch, 7.3.4, with {MINE}",
        "  not the same: release, source and compiler",
    )


def test_a_patch_that_changed_no_code_is_told(tmp_path: Path) -> None:
    idle = replace(PATCHED, build_id=IDENTITY.build_id)

    lines = kernel_lines(on_kernels(tmp_path, IDENTITY, idle))

    assert "two have one build id" in lines[-1]


def test_measured_values_stand_side_by_side_with_their_change(tmp_path: Path) -> None:
    (grid,) = kernel_grids(on_kernels(tmp_path, IDENTITY, PATCHED), 2)

    rows = {name: values for name, *values in grid.rows}
    assert rows["IpOutRequests"] == ["601", "230", "-61.7%"]
    assert rows["tso_size"] == ["2 000 B", "10 000 B", "+400.0%"]
    assert "transactions" not in rows


def test_terminal_and_page_show_the_comparison(tmp_path: Path) -> None:
    compared = on_kernels(tmp_path, IDENTITY, PATCHED)

    shown = " ".join(printed(compared).split())
    several = " ".join(printed(compared, compared).split())
    page = render([draw(compared)])

    for text in (shown, several, page):
        assert "the variants differ in their kernel alone" in text
        assert "-61.7%" in text
    assert "why" not in several
    assert "Kernel against kernel" in page


def test_kernels_of_which_nothing_was_measured_have_no_table(tmp_path: Path) -> None:
    void = all_void(tmp_path)
    runs = tuple(
        replace(void.voids[0], variant=name, kernel=kernel)
        for name, kernel in (("before", IDENTITY), ("after", PATCHED))
    )

    two = replace(void, experiment=experiment(), voids=runs)
    assert list(kernel_grids(two, 2)) == []
    assert kernel_lines(two) != ()


def test_four_kernels_take_two_tables_on_a_terminal(tmp_path: Path) -> None:
    two = on_kernels(tmp_path, IDENTITY, PATCHED)
    names = ("a", "b", "c", "d")
    spec = replace(
        two.experiment,
        variants=tuple(
            replace(two.experiment.variants[0], name=each) for each in names
        ),
    )
    runs = tuple(
        replace(
            two.runs[at % 2],
            run=replace(two.runs[at % 2].run, variant=name, experiment=spec),
        )
        for at, name in enumerate(names)
    )

    first, second = kernel_grids(replace(two, experiment=spec, runs=runs), 2)

    assert first.head == ("sender", "a:", "b:\n", "b:\nto a", "c:\n", "c:\nto a")
    assert second.head == ("sender", "a:", "d:\n", "d:\nto a")
