"""Rights and the kernel's features, against a kernel that answers from a list."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from testbed.doctor import features
from testbed.doctor.features import (
    try_counters,
    try_features,
    try_ptrace,
    try_root,
)
from testbed.doctor.finding import lack
from testbed.lab.perf import CpuCounters
from testbed.process import Finished


class KernelWithout:
    """Says no to each script that has one of the words in it."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, argv: Sequence[str]) -> Finished:
        refused = any(f" {word}" in argv[-1] for word in self.words)
        said = "Error: Specified qdisc kind is unknown.\n" * refused
        return Finished(argv=tuple(argv), status=int(refused) * 2, output=said)


def test_a_kernel_that_can_do_all_has_every_feature() -> None:
    found = try_features(KernelWithout())

    assert all(each.ok for each in found)
    assert [each.name for each in found] == [
        "namespaces",
        *(f"qdisc {each}" for each in ("fq", "fq_codel", "netem", "tbf", "htb")),
        *(f"congestion control {each}" for each in ("cubic", "reno", "dctcp", "bbr")),
        "BIG TCP on veth",
    ]


def test_what_a_kernel_refuses_is_told_in_its_words_and_has_a_remedy() -> None:
    found = {each.name: each for each in try_features(KernelWithout("netem"))}

    lacking = [name for name, each in found.items() if not each.ok]
    assert lacking == ["qdisc netem"]
    assert found["qdisc netem"].told == "Error: Specified qdisc kind is unknown."
    assert "NET_SCH_NETEM" in found["qdisc netem"].remedy or (
        "modprobe -a sch_netem" in found["qdisc netem"].remedy
    )


def test_without_namespaces_nothing_is_tried_in_one() -> None:
    tried = []

    def no_namespaces(argv: Sequence[str]) -> Finished:
        tried.append(argv)
        return Finished(argv=tuple(argv), status=1, output="unshare failed\n")

    first, *rest = try_features(no_namespaces)

    assert len(tried) == 1
    assert first.told == "unshare failed"
    assert {each.told for each in rest} == {"not tried: that takes a namespace"}
    assert not any(each.ok for each in rest)


def test_who_is_not_root_is_told_what_takes_root(monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert try_root() == (
        lack("root", "uid 1000", "sudo python -m testbed ..., for the machine host"),
    )


def test_who_is_not_root_tries_in_a_user_namespace(monkeypatch) -> None:
    started = []

    def stream(argv, _on_line, *, timeout_s) -> Finished:
        started.append(argv[:3])
        return Finished(argv=argv, status=0, output="")

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(features, "stream", stream)

    found = try_features()

    assert set(started) == {("unshare", "--map-root-user", "--net")}
    assert all(each.told.endswith("root of a user namespace") for each in found)


def test_this_host_is_tried_whether_it_can_trace() -> None:
    (found,) = try_ptrace()

    assert found.name == "ptrace"
    assert found.ok == (not found.remedy)


def test_a_refusal_to_be_traced_is_told(monkeypatch) -> None:
    said = "PTRACE_TRACEME: Operation not permitted\n"
    monkeypatch.setattr(
        features,
        "stream",
        lambda argv, _line, timeout_s: Finished(argv=argv, status=1, output=said),
    )

    (found,) = try_ptrace()

    assert not found.ok
    assert found.told == said.strip()
    assert "ptrace_scope" in found.remedy


def counts(values: dict[str, int], monkeypatch) -> None:
    @contextmanager
    def counting() -> Iterator[CpuCounters]:
        cpu = CpuCounters({})
        monkeypatch.setattr(cpu, "read", lambda: values)
        yield cpu

    monkeypatch.setattr(features, "counting", counting)


def test_counters_that_count_are_named(monkeypatch) -> None:
    counts({"cycles": 5, "instructions": 9}, monkeypatch)

    assert try_counters()[0].told == "cycles and instructions are counted"


def test_where_nothing_is_counted_it_says_what_does_without(monkeypatch) -> None:
    counts({}, monkeypatch)

    (found,) = try_counters()

    assert not found.ok
    assert "do without" in found.remedy
