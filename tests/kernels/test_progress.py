import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.kernels.progress import Counter, Progress, built_file


@pytest.mark.parametrize(
    ("line", "file"),
    [
        pytest.param("  CC      net/tcp.o", "net/tcp.o", id="cc"),
        pytest.param("  CC [M]  net/tcp.o", "net/tcp.o", id="cc-module"),
        pytest.param("  AS      a.o", "a.o", id="as"),
        pytest.param("  AR      built-in.a", "built-in.a", id="ar"),
        pytest.param("  LD      vmlinux.o", "vmlinux.o", id="ld"),
        pytest.param("  HOSTCC  fixdep", None, id="host"),
        pytest.param("make[1]: Entering directory", None, id="make"),
        pytest.param("net/tcp.c:1: error: CC", None, id="error"),
    ],
)
def test_what_make_builds_is_read_from_its_output(line: str, file: str | None) -> None:
    assert built_file(line) == file


@given(st.integers(-5, 50), st.lists(st.integers(1, 9)))
def test_progress_grows_and_never_exceeds_its_total(
    total: int, steps: list[int]
) -> None:
    reports: list[Progress] = []
    counter = Counter("compile", total, reports.append)

    for by in steps:
        counter.step("x", by=by)
    counter.finish("x")

    done = [report.done for report in reports]
    assert done == sorted(done)
    assert all(report.done <= report.total for report in reports)
    assert reports[-1].done == reports[-1].total


def test_progress_past_its_total_does_not_exist() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        Progress(phase="compile", done=3, total=2, detail="")
