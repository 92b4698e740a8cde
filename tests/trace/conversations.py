"""Conversations at random: what two TCPs might say, and what a capture might miss.

Everything is drawn from one random.Random, so a seed is a conversation. Times are left
at 0: who writes the capture decides them. Start with conversations.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from tests.trace.oracle import ACK, FIN, RST, SYN, Seen

_WRAP = 1 << 32
_SACK = 12  # bytes of one SACK block with its padding
_ISNS = (0, 1, _WRAP - 1, _WRAP - 2, _WRAP - 1500, _WRAP - 70_000, _WRAP // 2)
_SIZES = (1, 2, 100, 999, 1000, 1001, 1448, 2896, 14_480, 65_000)
_BIG = (65_536, 150_000, 524_000)
_MSSES = (536, 1000, 1400, 1460, 8960, 65_495)
_FAR = 1 << 29  # a window is at most twice that (RFC 7323, 2.3)
_WAYS = ("v4", "v4", "v6")
_STEPS = (
    ("send", 30),
    ("ack", 25),
    ("again", 8),
    ("partly", 4),
    ("hole", 3),
    ("duplicate", 4),
    ("keepalive", 4),
    ("flagless", 1),
)


@dataclass(slots=True)
class _End:
    """One side. nxt: number of its next byte; una: what the other acknowledged."""

    host: str
    port: int
    isn: int
    mss: int | None
    nxt: int = 0
    una: int = 0
    fin: bool = False
    sent: list[tuple[int, int]] = field(default_factory=list)

    @property
    def loss(self) -> bool:
        return self.una < self.nxt


class _Talk:
    """Two ends that say things at random."""

    def __init__(self, random: Random, hosts: tuple[str, str], port: int) -> None:
        self.random = random
        self.option_bytes = random.choice((0, 12, 12, 12, 20))
        self.big = random.random() < 0.1
        self.said: list[Seen] = []
        self.ports = (port, random.choice((80, 443, port)))
        self.hosts = hosts
        self.ends: tuple[_End, ...] = ()
        self.meet()

    def meet(self) -> None:
        """Begin a connection between the same ports, with new ISNs."""
        isns = [
            self.random.choice((*_ISNS, self.random.randrange(_WRAP))) for _ in range(2)
        ]
        while self.said and isns[0] in (self.ends[0].isn, self.ends[1].isn):
            isns[0] = self.random.randrange(_WRAP)
        while self.said and isns[1] == self.ends[1].isn:
            isns[1] = self.random.randrange(_WRAP)
        msses = [self.random.choice((None, *_MSSES, *_MSSES)) for _ in range(2)]
        self.ends = tuple(
            _End(host, port, isn, mss)
            for host, port, isn, mss in zip(
                self.hosts, self.ports, isns, msses, strict=True
            )
        )
        self._handshake()

    def _handshake(self) -> None:
        client, server = self.ends
        fast = self.random.choice((0, 0, 0, 0, 2, 400))
        answer = self.random.choice((0, 0, 0, 0, 3, 500))
        self._say(client, -1, fast, flags=SYN, options=20)
        if self.random.random() < 0.2:
            self._say(client, -1, fast, flags=SYN, options=20)
        client.nxt = client.una = fast
        self._say(server, -1, answer, flags=SYN | ACK, options=20)
        server.nxt = server.una = answer
        self._say(client, fast, 0)

    def _say(
        self,
        end: _End,
        seq: int,
        length: int,
        *,
        flags: int = ACK,
        options: int | None = None,
    ) -> None:
        """Add a packet; options: bytes of TCP options, the usual ones if not given."""
        peer = self.ends[1] if end is self.ends[0] else self.ends[0]
        acks = flags & ACK
        syn = flags & SYN
        if length and seq >= 0:
            end.sent.append((seq, length))
        self.said.append(
            Seen(
                time_ns=0,
                src=end.host,
                sport=end.port,
                dst=peer.host,
                dport=peer.port,
                seq=(end.isn + 1 + seq) % _WRAP,
                ack=(peer.isn + 1 + peer.una) % _WRAP if acks else 0,
                flags=flags,
                length=length,
                option_bytes=self.option_bytes if options is None else options,
                mss=end.mss if syn else None,
            )
        )

    def step(self) -> None:
        """Let one end do something."""
        names, weights = zip(*_STEPS, strict=True)
        (name,) = self.random.choices(names, weights)
        end, peer = self.random.sample(self.ends, 2)
        getattr(self, f"_{name}")(end, peer)

    def _size(self) -> int:
        sizes = _SIZES + (_BIG if self.big else ())
        return self.random.choice((*sizes, self.random.randrange(1, 3000)))

    def _send(self, end: _End, _peer: _End) -> None:
        if end.fin:
            return
        size = self._size()
        self._say(end, end.nxt, size)
        end.nxt += size

    def _hole(self, end: _End, peer: _End) -> None:
        """Send something that the capture does not have, perhaps a lot of it."""
        if not end.fin:
            far = _FAR if end.nxt - end.una < _FAR else 5000
            end.nxt += self.random.choice((1000, 70_000, far))
            self._send(end, peer)

    def _ack(self, end: _End, peer: _End) -> None:
        if not peer.loss:
            return
        whole = self.random.random() < 0.6
        peer.una = peer.nxt if whole else self.random.randint(peer.una, peer.nxt)
        self._say(end, end.nxt, 0)

    def _duplicate(self, end: _End, _peer: _End) -> None:
        self._say(end, end.nxt, 0, options=self.option_bytes + _SACK)

    def _again(self, end: _End, _peer: _End) -> None:
        if end.sent:
            self._say(end, *self.random.choice(end.sent))

    def _partly(self, end: _End, _peer: _End) -> None:
        """Send bytes that were sent before, and perhaps new ones behind them."""
        if not end.sent or end.fin:
            return
        seq, length = self.random.choice(end.sent)
        first = seq + self.random.randrange(length)
        beyond = self.random.choice((0, 0, 500))
        size = min(max(1, end.nxt - first), 40_000)
        size = self.random.randint(1, size) if not beyond else size
        if first + size == end.nxt:
            size += beyond
        self._say(end, first, size)
        end.nxt = max(end.nxt, first + size)

    def _keepalive(self, end: _End, peer: _End) -> None:
        """Ask for an ACK, with the last byte acknowledged or with nothing."""
        if end.loss or end.fin:
            return
        kept = list(end.sent)
        self._say(end, end.nxt - 1, self.random.choice((0, 1)))
        end.sent = kept
        if self.random.random() < 0.7:
            self._say(peer, peer.nxt, 0)

    def _flagless(self, end: _End, _peer: _End) -> None:
        """Send data without the ACK flag: what stands in its ack field says nothing."""
        if end.fin:
            return
        self._say(end, end.nxt, 700, flags=0)
        self.said[-1] = replace(self.said[-1], ack=self.random.randrange(_WRAP))
        end.nxt += 700

    def close(self) -> None:
        """End it, with FINs or an RST, each with or without payload."""
        first, second = self.random.sample(self.ends, 2)
        size = self.random.choice((0, 0, 2, 900))
        if self.random.random() < 0.4:
            flags = self.random.choice((RST, RST | ACK))
            self._say(first, first.nxt, size, flags=flags)
            return
        for end, peer in ((first, second), (second, first)):
            self._say(end, end.nxt, size, flags=FIN | ACK)
            end.nxt += size + 1
            end.fin = True
            if self.random.random() < 0.2:
                self._say(end, end.nxt - 1 - size, size, flags=FIN | ACK)
            end.una = end.nxt
            self._say(peer, peer.nxt, 0)


def _conversation(random: Random, hosts: tuple[str, str], port: int) -> list[Seen]:
    talk = _Talk(random, hosts, port)
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        _go_on(random, talk)
        talk.close()
        if random.random() < 0.3:
            talk.said.append(next(one for one in talk.said if one.has(SYN)))
            return _as_captured(random, talk.said)
        talk.meet()
    _go_on(random, talk)
    if random.random() < 0.5:
        talk.close()
    return _as_captured(random, talk.said)


def _go_on(random: Random, talk: _Talk) -> None:
    for _ in range(random.choice((0, 3, 10, 40))):
        talk.step()


def _as_captured(random: Random, said: list[Seen]) -> list[Seen]:
    """Leave out what a capture may miss, and put some packets out of order."""
    how = random.random()
    # What ended the first of two connections may be what is missed.
    if how < 0.1 and len({one.seq for one in said if one.has(SYN)}) < 3:
        side = random.choice(said).source
        said = [one for one in said if one.source == side]
    elif how < 0.3:
        said = _known(said[random.randint(1, 6) :])
    elif how < 0.4:
        said = [one for one in said if one.flags != SYN | ACK or one.length]
    return _reordered(random, said) if random.random() < 0.3 else said


def _known(said: list[Seen]) -> list[Seen]:
    """Leave out what is before a SYN if nothing tells that it is another connection."""
    syn = next((at for at, one in enumerate(said) if one.has(SYN)), 0)
    closed = any(one.has(FIN | RST) for one in said[:syn])
    return said if closed else said[syn:]


def _reordered(random: Random, said: list[Seen]) -> list[Seen]:
    """Exchange neighbours, but for those that begin or end a connection."""
    order = list(said)
    for at in range(len(order) - 1):
        pair = order[at : at + 2]
        if random.random() < 0.1 and not any(p.has(SYN | FIN | RST) for p in pair):
            order[at : at + 2] = reversed(pair)
    return order


def _hosts(random: Random) -> tuple[str, str]:
    one, other = random.sample(range(1, 250), 2)
    if random.choice(_WAYS) == "v4":
        return f"10.0.0.{one}", f"10.0.{random.randrange(3)}.{other}"
    return f"fc00::{one:x}", f"fc00::{random.randint(1, 3)}:{other:x}"


def _interleaved(random: Random, talks: list[list[Seen]]) -> Iterator[Seen]:
    queues = [iter(talk) for talk in talks]
    while queues:
        queue = random.choice(queues)
        for _ in range(random.randint(1, 8)):
            packet = next(queue, None)
            if packet is None:
                queues.remove(queue)
                break
            yield packet


def conversations(random: Random) -> list[Seen]:
    """Return the packets of one or a few connections, interleaved."""
    count = random.choice((1, 1, 1, 2, 5))
    ports = random.sample(range(1024, 60_000), count)
    hosts = _hosts(random)
    each = [
        _conversation(random, hosts if random.random() < 0.5 else _hosts(random), port)
        for port in ports
    ]
    return list(_interleaved(random, each))
