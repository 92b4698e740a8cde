from dataclasses import replace
from pathlib import Path

import pytest
from report.builders import half_void, result

from testbed.export.commit import WIDTH, commit_text
from testbed.report.result import Result


def text(of: Result) -> str:
    return commit_text([of])


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("kernel 6.12.117 (build id abababababab, 1 patch)", id="kernel"),
        pytest.param("machine uml, virtual clock", id="machine"),
        pytest.param("$ python -m testbed run tso --seed 1", id="command"),
        pytest.param("RTT 40.0 ms, 1.00 Gbit/s, queue of 1 000 packets", id="path"),
        pytest.param("1 flow of 1000 bytes", id="workload"),
        pytest.param("before: the before side", id="variant"),
        pytest.param("IpOutRequests 601 230", id="claimed-counter"),
        pytest.param("IpInReceives 598 87654321", id="plain-digits"),
        pytest.param("TcpOutSegs 7001 9009", id="counter-of-the-receiver"),
        pytest.param("throughput 6.20 Mbit/s 6.20 Mbit/s", id="rate"),
        pytest.param("tso_segs (segments) 2 10", id="packet-size"),
    ],
)
def test_the_block_says(words: str, tmp_path: Path) -> None:
    assert words in " ".join(text(result(tmp_path)).split())


def test_no_line_is_wider_than_a_commit_message(tmp_path: Path) -> None:
    plain = result(tmp_path)
    long = replace(
        plain.runs[0].run, command="python -m testbed run " + "--set path.rtt=1ms " * 9
    )
    runs = (replace(plain.runs[0], run=long), *plain.runs[1:])

    lines = text(replace(plain, runs=runs)).splitlines()

    assert max(map(len, lines)) <= WIDTH


def test_a_long_command_is_continued_as_a_shell_takes_it(tmp_path: Path) -> None:
    plain = result(tmp_path)
    command = "python -m testbed run " + "--set path.rtt=1ms " * 9
    runs = tuple(
        replace(each, run=replace(each.run, command=command)) for each in plain.runs
    )

    block = text(replace(plain, runs=runs))

    start = block.index("$ ") + 2
    typed = block[start : block.index("\n\n", start)].replace("\\\n", " ")
    assert typed.split() == command.split()


def test_a_path_that_differs_is_told_of_each_variant(tmp_path: Path) -> None:
    plain = result(tmp_path)
    first, second = plain.experiment.variants
    variants = (first, replace(second, path=replace(second.path, rtt=1_000_000)))
    other = replace(plain.experiment, variants=variants)
    runs = tuple(
        replace(each, run=replace(each.run, experiment=other)) for each in plain.runs
    )

    block = " ".join(text(replace(plain, experiment=other, runs=runs)).split())

    assert "before: long_haul: RTT 40.0 ms" in block
    assert "after: long_haul: RTT 1.00 ms" in block


def test_a_counter_that_never_moved_takes_no_line(tmp_path: Path) -> None:
    assert "TcpRetransSegs" not in text(result(tmp_path))


def test_more_variants_than_fit_stand_in_tables_below_each_other(
    tmp_path: Path,
) -> None:
    plain = result(tmp_path)
    names = [f"variant-{at}" for at in range(7)]
    variants = tuple(replace(plain.experiment.variants[0], name=each) for each in names)
    many = replace(plain.experiment, variants=variants)
    runs = tuple(
        replace(
            plain.runs[0], run=replace(plain.runs[0].run, variant=each, experiment=many)
        )
        for each in names
    )

    block = text(Result(experiment=many, runs=runs, verdicts=()))

    heads = [line for line in block.splitlines() if line.startswith(" " * 32)]
    assert [line.split() for line in heads] == [names[:3], names[3:6], names[6:]]


def test_a_variant_that_is_void_is_named_and_has_no_column(tmp_path: Path) -> None:
    block = text(half_void(tmp_path))

    assert "void: after, repeat 1: the capture lost 12 packets" in block
    assert "after" not in block[block.index(" " * 32) :]
