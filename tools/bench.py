"""How fast `inspect` is, beside tcptrace, tshark and Scapy in one run: make bench.

    python -m tools.bench [--rounds N] [--largest PACKETS] [--folder FOLDER]

All read captures of tools/make_captures.py, in turn, round after round, so that what
else the machine does hits all of them; of each the fastest round counts. Ours and
tcptrace are timed from start to end and read every packet. tshark and Scapy read the
first packets only, without what they take to start: both in their favour. Exit code: 0
all as fast as asked, 1 not, 2 usage, 3 a tool is missing, 4 a tool failed.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import InfrastructureError, TestbedError, Unavailable
from testbed.process import Cost, cost, missing_programs

PACKETS = 3_000_000
SIZES = (PACKETS, 30_000_000, 100_000_000)
MANY_FLOWS = 10_000
_TOOLS = {"tcptrace": "tcptrace", "tshark": "tshark"}
_MOST_S = 3600
_BYTES_A_PACKET = 92  # of a capture with its record headers, at most
_TINY = 3
_EVEN = 1.1  # so much more is what rounds differ by
_SCAPY = (
    "import sys; from scapy.all import PcapReader; [0 for _ in PcapReader(sys.argv[1])]"
)
_FIELDS = (
    "frame.time_epoch",
    "frame.len",
    "ip.src",
    "ip.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.len",
)

Say = Callable[[str], None]


def ours(capture: Path) -> tuple[str, ...]:
    """Return the command that is measured."""
    return (sys.executable, "-m", "testbed", "inspect", str(capture), "--json")


def tcptrace(capture: Path) -> tuple[str, ...]:
    """Return tcptrace's, with its long output."""
    return ("tcptrace", "-n", "-l", str(capture))


def tshark(capture: Path) -> tuple[str, ...]:
    """Return tshark's: the fields that the same numbers could be computed from."""
    fields = [word for field in _FIELDS for word in ("-e", field)]
    return ("tshark", "-n", "-r", str(capture), "-T", "fields", *fields)


def scapy(capture: Path) -> tuple[str, ...]:
    """Return one that has Scapy dissect every packet, and does nothing with them."""
    return (sys.executable, "-c", _SCAPY, str(capture))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A tool. packets: how many it is given. asked: times as fast as it we have to be.

    whole: whether its start counts.
    """

    name: str
    argv: Callable[[Path], tuple[str, ...]]
    packets: int
    asked: float
    whole: bool = False


OURS = Contestant(name="inspect", argv=ours, packets=PACKETS, asked=1, whole=True)
OTHERS = (
    Contestant(name="tcptrace", argv=tcptrace, packets=PACKETS, asked=1, whole=True),
    Contestant(name="tshark", argv=tshark, packets=PACKETS // 10, asked=50),
    Contestant(name="scapy", argv=scapy, packets=PACKETS // 200, asked=500),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Nanoseconds a packet, by the wall clock and of CPU, and the bytes it took."""

    wall_ns: float
    cpu_ns: float
    peak_rss: int = 0


def pace(costs: Sequence[Cost], packets: int, starts: Sequence[Cost] = ()) -> Pace:
    """Return the best of several costs, a packet. starts: what is no part of them."""

    def least(seconds: Callable[[Cost], float]) -> float:
        start = min(map(seconds, starts), default=0)
        return (min(map(seconds, costs)) - start) * 1e9 / packets

    return Pace(
        wall_ns=least(lambda one: one.seconds),
        cpu_ns=least(lambda one: one.cpu_seconds),
        peak_rss=max(one.peak_rss for one in costs),
    )


class Captures:
    """The captures of one run, made when first asked for."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._folder = folder
        self._say = say

    def get(self, packets: int, flows: int = 1) -> Path:
        """Return a capture of so many packets; raises Unavailable without room."""
        path = self._folder / f"{packets}-{flows}.pcap"
        if not path.exists():
            needed = packets * _BYTES_A_PACKET
            if shutil.disk_usage(self._folder).free < needed + (1 << 30):
                what = f"{self._folder} has no room for {needed >> 20} MB"
                raise Unavailable(what, remedy="--folder FOLDER, or --largest 3000000")
            self._say(f"making a capture of {packets} packets, {flows} flows")
            # In a process of its own: what this one grows to would count as ours.
            made = path.with_suffix(".part")
            words = ("--packets", str(packets), "--flows", str(flows))
            argv = (sys.executable, "-m", "tools.make_captures", str(made), *words)
            cost(argv, timeout_s=_MOST_S)
            made.rename(path)
        return path


def race(captures: Captures, rounds: int, say: Say) -> dict[str, Pace]:
    """Return everyone's pace on one flow, taken in turn."""
    every = (OURS, *OTHERS)
    costs: dict[str, list[Cost]] = {one.name: [] for one in every}
    starts: dict[str, list[Cost]] = {one.name: [] for one in every}
    for number in range(rounds):
        for one in every:
            say(f"round {number + 1} of {rounds}: {one.name}")
            argv = one.argv(captures.get(one.packets))
            costs[one.name].append(cost(argv, timeout_s=_MOST_S))
            if not one.whole:
                argv = one.argv(captures.get(_TINY))
                starts[one.name].append(cost(argv, timeout_s=_MOST_S))
    return {
        one.name: pace(costs[one.name], one.packets, starts[one.name]) for one in every
    }


def scaling(
    captures: Captures, largest: int, rounds: int, say: Say
) -> dict[tuple[int, int], Pace]:
    """Return our pace by packets and flows, taken in turn."""
    sizes = [size for size in SIZES if size <= largest]
    many = [(size, MANY_FLOWS) for size in sizes[:2]]
    kinds = [*many, *((size, 1) for size in sizes)]
    costs: dict[tuple[int, int], list[Cost]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for packets, flows in kinds:
            say(f"round {number + 1} of {rounds}: {packets} packets, {flows} flows")
            argv = ours(captures.get(packets, flows))
            costs[packets, flows].append(cost(argv, timeout_s=_MOST_S))
    return {kind: pace(of, kind[0]) for kind, of in costs.items()}


def check(capture: Path, packets: int, flows: int, folder: Path) -> None:
    """Raise InfrastructureError unless ours counts what the capture holds."""
    said = folder / "said.json"
    cost(ours(capture), timeout_s=_MOST_S, output=said)
    answer = json.loads(said.read_text())
    loaded = [flow for flow in answer["flows"] if flow["packets"]]
    got = answer["packets"], len(loaded), answer["skipped"]
    said.unlink()
    if got != (packets, flows, {}):
        wanted = f"{packets} packets and {flows} flows"
        raise InfrastructureError(f"{capture}: wanted {wanted}, got {got}")


def race_lines(paces: Mapping[str, Pace], rounds: int) -> Iterator[str]:
    """Yield the table of the race."""
    yield f"{PACKETS} packets of one flow; the fastest of {rounds} rounds"
    yield "tool        packets   M packets/s   ns wall   ns CPU  times as fast    asked"
    own = paces[OURS.name]
    for one in (OURS, *OTHERS):
        its = paces[one.name]
        by_wall, by_cpu = its.wall_ns / own.wall_ns, its.cpu_ns / own.cpu_ns
        told = "" if one is OURS else f"{by_wall:7.2f}{by_cpu:8.2f}{one.asked:9g}"
        yield (
            f"{one.name:9}{one.packets:10}{1e3 / its.wall_ns:14.3f}"
            f"{its.wall_ns:10.0f}{its.cpu_ns:9.0f}{told}"
        )


def scaling_lines(paces: Mapping[tuple[int, int], Pace]) -> Iterator[str]:
    """Yield the table of our own pace."""
    yield "packets     flows   ns wall   ns CPU    of 3 M, 1 flow: wall, CPU   peak RSS"
    base = paces[PACKETS, 1]
    for (packets, flows), its in sorted(paces.items(), key=lambda one: one[0]):
        share = f"{its.wall_ns / base.wall_ns:.2f}, {its.cpu_ns / base.cpu_ns:.2f}"
        yield (
            f"{packets:<10}{flows:7}{its.wall_ns:10.0f}{its.cpu_ns:9.0f}"
            f"{share:>30}{its.peak_rss >> 20:8} MB"
        )


def uneven(paces: Mapping[tuple[int, int], Pace]) -> Iterator[str]:
    """Say which captures cost more a packet than 3 M packets of one flow, by CPU."""
    base = paces[PACKETS, 1].cpu_ns
    for (packets, flows), its in paces.items():
        if its.cpu_ns > _EVEN * base:
            times = f"{its.cpu_ns / base:.2f} times"
            yield f"a packet of {packets} in {flows} flows costs {times} as much"


def too_slow(paces: Mapping[str, Pace]) -> list[str]:
    """Say where we are not as fast as asked, by the wall clock."""
    own = paces[OURS.name].wall_ns
    return [
        f"not {one.asked:g} times as fast as {one.name}"
        for one in OTHERS
        if paces[one.name].wall_ns < one.asked * own
    ]


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """Give a folder for captures: the user's, who keeps it, or one that goes."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="testbed-bench-") as made:
        yield Path(made)


def bench(folder: Path, *, rounds: int, largest: int) -> list[str]:
    """Measure, print, and return what falls short."""
    captures = Captures(folder, _told)
    for flows in (1, MANY_FLOWS):  # which also compiles what is compiled on first use
        check(captures.get(PACKETS, flows), PACKETS, flows, folder)
    raced = race(captures, rounds, _told)
    for line in race_lines(raced, rounds):
        sys.stdout.write(f"{line}\n")
    scaled = scaling(captures, largest, rounds, _told)
    for line in scaling_lines(scaled):
        sys.stdout.write(f"{line}\n")
    return [*too_slow(raced), *uneven(scaled)]


def _told(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _require_tools() -> None:
    missing = missing_programs(_TOOLS)
    if missing:
        packages = " ".join(sorted(missing.values()))
        raise Unavailable(
            f"no {', '.join(sorted(missing))}",
            remedy=f"apt-get install -y --no-install-recommends {packages}",
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return its exit code."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure inspect.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--largest", type=int, default=SIZES[1], help=f"packets; {SIZES[2]} for all"
    )
    parser.add_argument("--folder", type=Path, help="where captures are kept")
    given = parser.parse_args(argv)
    try:
        _require_tools()
        with _folder(given.folder) as folder:
            slow = bench(folder, rounds=given.rounds, largest=given.largest)
    except TestbedError as error:
        _told(f"bench: {error}")
        return error.exit_code
    for line in slow:
        _told(f"bench: {line}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
