"""What nstat, perf stat, ss and TCP_INFO dumps print. Read first: OUTPUT."""

import re
from fractions import Fraction

from testbed.mail.facts import Choice, Context, Fact, Figure, Found
from testbed.mail.numbers import number
from testbed.mail.prose import sentence

_NSTAT = re.compile(
    r"\s*([A-Z]\w{2,60})\s+(\d{1,15})\s+-?\d{1,15}\.\d+\s*(?:#\s*(.*))?"
)
_PERF_EVENTS = (
    "task-clock|cpu-clock|context-switches|cpu-migrations|page-faults|cycles|"
    "instructions|branches|branch-misses|cache-references|cache-misses|"
    "stalled-cycles-frontend|stalled-cycles-backend|L1-\\S+|LLC-\\S+|dTLB-\\S+"
)
_PERF = re.compile(
    rf"\s*([\d,]{{1,20}}(?:\.\d{{1,9}})?)\s+(?:msec\s+)?({_PERF_EVENTS})(?::u)?\b"
    r"\s*(?:#.*|\([\d.]+%\))?"
)
_PERF_TALK = re.compile(
    r"\s*(?:Performance counter stats for .*:"
    r"|#\s+[\d.]+\s+stalled cycles per insn.*"
    r"|[\d.,]+ (?:\+- [\d.,]+ )?seconds (?:time elapsed|user|sys).*)"
)
_NS_PER = {"us": 1_000, "ms": 1_000_000}
_FIELD = re.compile(r"([a-z_]+)[:=](\d[\d./,]*)(?=\s|$)")
_TCP_INFO = frozenset(
    [
        "rto",
        "rtt",
        "ato",
        "mss",
        "pmtu",
        "cwnd",
        "ssthresh",
        "snd_ssthresh",
        "rcv_ssthresh",
        "rttvar",
        "reordering",
        "total_retrans",
        "ca_state",
        "minrtt",
        "bytes_acked",
        "segs_out",
        "segs_in",
        "wscale",
        "retrans",
    ]
)
_SS_TABLE = re.compile(r"\s*(?:State\s+Recv-Q|ESTAB\s+\d).*")
_ENOUGH = 3  # fields of TCP_INFO in a line: fewer may be anything
_CONGESTION = ("cubic", "reno", "bbr", "bbr2", "dctcp", "vegas", "westwood", "htcp")


def nstat(line: str, context: Context) -> Found | None:
    """TcpOutSegs    58659110    0.0  # Average of 3.7 4K segments per TSO packet"""
    match = _NSTAT.fullmatch(line)
    if match is None:
        return None
    name, value, remark = match.groups()
    counter = Figure(metric=name, value=Fraction(value))
    if not remark:
        return Found(context=context, facts=(counter,))
    said = sentence(remark, context)
    return Found(context=context, facts=(counter, *said.facts), rest=said.rest)


def perf(line: str, context: Context) -> Found | None:
    """65,945.29 msec task-clock  #  2.845 CPUs utilized"""
    if _PERF_TALK.fullmatch(line):
        return Found(context=context)
    match = _PERF.fullmatch(line)
    value = number(match[1]) if match else None
    if match is None or value is None:
        return None
    if match[2] == "task-clock":
        figure = Figure(metric="cpu", value=value * _NS_PER["ms"], unit="ns")
    elif match[2] == "context-switches":
        figure = Figure(metric="context_switches", value=value)
    else:
        figure = Figure(metric=f"perf {match[2]}", value=value, unit="CPU")
    return Found(context=context, facts=(figure,))


def tcp_info(line: str, context: Context) -> Found | None:
    """Ss -ti (cubic rtt:40.1/0.2 pmtu:1500, ms) or netperf's dump (rtt=67, us)."""
    if _SS_TABLE.fullmatch(line):
        return Found(context=context)
    fields: dict[str, str] = dict(_FIELD.findall(line))
    if len(_TCP_INFO & set(fields)) < _ENOUGH:
        return None
    unit = "us" if "rtt=" in line else "ms"
    facts: list[Fact] = []
    rtt = number((fields.get("minrtt") or fields.get("rtt", "")).split("/")[0])
    if rtt is not None:
        guess = "of TCP_INFO" if "minrtt" in fields else "TCP_INFO's, queues included"
        ns = int(rtt * _NS_PER[unit])
        facts.append(Choice(section="path", key="rtt", value=ns, guess=guess))
    if fields.get("pmtu", "").isdecimal():
        mtu = int(fields["pmtu"])
        facts.append(Choice(section="path", key="mtu", value=mtu))
    retrans = fields.get("total_retrans") or fields.get("retrans", "")
    if (count := number(retrans.split("/")[-1])) is not None:
        facts.append(Figure(metric="TcpRetransSegs", value=count, rough=True))
    first = line.split(maxsplit=1)[0]
    if first in _CONGESTION:
        facts.append(Choice(section="workload", key="congestion", value=first))
    return Found(context=context, facts=tuple(facts))


#: What these tools print, in the order in which a line is tried.
OUTPUT = (nstat, perf, tcp_info)
