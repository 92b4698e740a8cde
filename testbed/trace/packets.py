"""Records to TCP headers: the columns that everything about a flow is computed from.

Packets are decoded some thousands at a time, each layer for all of them at once: the
rows that pass a layer go on to the next, the others are counted by reason. What a
packet claims about lengths is checked before it is used; payload lengths come from the
IP header, or from the record's wire length where the header holds none (BIG TCP), never
from the bytes captured. Start with decode.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from testbed.trace.pairs import PairBook
from testbed.trace.pcapng import LINKTYPE_ETHERNET
from testbed.trace.records import Records, RecordTable, gather
from testbed.trace.trace import Column

Mask = NDArray[np.bool_]

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

#: The value of mss and wscale in a packet that has no such option.
ABSENT = -1

#: Records decoded together: few enough for the cache, enough to make numpy worth it.
_CHUNK = 1 << 14

_ETHERNET = np.dtype([("addresses", "V12"), ("type", ">u2")])
_VLAN = np.dtype([("tag", ">u2"), ("type", ">u2")])
_IPV4 = np.dtype(
    [
        ("version_ihl", "u1"),
        ("tos", "u1"),
        ("tot_len", ">u2"),
        ("id", ">u2"),
        ("frag_off", ">u2"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("check", ">u2"),
        ("saddr", ">u4"),
        ("daddr", ">u4"),
    ]
)
_IPV6 = np.dtype(
    [
        ("version", "u1"),
        ("flow", "V3"),
        ("payload_len", ">u2"),
        ("nexthdr", "u1"),
        ("hop_limit", "u1"),
        ("saddr", ">u8", 2),
        ("daddr", ">u8", 2),
    ]
)
#: An IPv6 extension header, as far as the jumbo payload option reaches (RFC 2675).
_EXTENSION = np.dtype(
    [
        ("nexthdr", "u1"),
        ("hdrlen", "u1"),
        ("tlv_type", "u1"),
        ("tlv_len", "u1"),
        ("jumbo_payload_len", ">u4"),
    ]
)
_TCP = np.dtype(
    [
        ("source", ">u2"),
        ("dest", ">u2"),
        ("seq", ">u4"),
        ("ack_seq", ">u4"),
        ("doff", "u1"),
        ("flags", "u1"),
        ("window", ">u2"),
        ("check", ">u2"),
        ("urg_ptr", ">u2"),
    ]
)

_VERSION_4, _VERSION_6 = 4, 6
_IPV4_TYPE, _IPV6_TYPE = 0x0800, 0x86DD
_TAG_TYPES = (0x8100, 0x88A8, 0x9100)  # 802.1Q, 802.1ad, QinQ before its standard
_MOST_TAGS = 4
_MOST_EXTENSIONS = 8
_MORE_OR_OFFSET_4 = 0x3FFF  # frag_off: part of a fragmented packet (RFC 791)
_MORE_OR_OFFSET_6 = 0xFFF9  # the same in an IPv6 fragment header (RFC 8200, 4.5)
_HOP_BY_HOP, _TCP_PROTOCOL, _FRAGMENT, _AUTHENTICATION = 0, 6, 44, 51
#: Routing, destination options and mobility headers are as long as they say.
_EXTENSIONS = (_HOP_BY_HOP, 43, _FRAGMENT, _AUTHENTICATION, 60, 135)
_JUMBO, _JUMBO_LENGTH = 0xC2, 4
_END, _NOP, _MSS, _WSCALE = 0, 1, 2, 3
_MSS_LENGTH, _WSCALE_LENGTH = 4, 3
_LARGEST_WSCALE = 14  # RFC 7323, 2.3

TOO_SHORT = "captured too short"
NOT_IP = "not IP"
NOT_TCP = "not TCP"
BAD_IPV4, BAD_IPV6, BAD_TCP = "bad IPv4 header", "bad IPv6 header", "bad TCP header"
FRAGMENT_4, FRAGMENT_6 = "IPv4 fragment", "IPv6 fragment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """The TCP packets of a capture, one row each, in file order.

    src, dst: places in Packets.addresses.  length: payload bytes.  option_bytes: of all
    TCP options.  mss, wscale: the options of a SYN, ABSENT elsewhere.
    """

    time_ns: Column
    src: Column
    dst: Column
    sport: Column
    dport: Column
    seq: Column
    ack: Column
    flags: Column
    window: Column
    length: Column
    option_bytes: Column
    mss: Column
    wscale: Column

    def __len__(self) -> int:
        return len(self.time_ns)

    def take(self, rows: Column | Mask | slice) -> "Headers":
        """Return the rows asked for, in the order asked for."""
        return Headers(**{name: getattr(self, name)[rows] for name in _COLUMNS})

    def has(self, flag: int) -> Mask:
        """Say which packets carry a flag."""
        carries: Mask = (self.flags & flag) != 0
        return carries


_COLUMNS = tuple(field.name for field in fields(Headers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Packets:
    """What decode found. skipped: records that are no TCP packet, by reason."""

    headers: Headers
    addresses: tuple[str, ...]
    skipped: Mapping[str, int]


def decode(records: Records) -> Packets:
    """Return the TCP headers of all records that have one that can be read."""
    decoder = _Decoder(records.data)
    table = records.table
    ethernet = table.link == LINKTYPE_ETHERNET
    if not ethernet.all():
        kinds, counts = np.unique(table.link[~ethernet], return_counts=True)
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            decoder.skipped[f"link type {kind}"] += count
        table = table.take(ethernet)
    columns = {name: np.empty(len(table), np.int64) for name in _COLUMNS}
    count = 0
    for start in range(0, len(table), _CHUNK):
        part = decoder.headers(table.take(slice(start, start + _CHUNK)))
        for name, column in columns.items():
            column[count : count + len(part)] = getattr(part, name)
        count += len(part)
    return Packets(
        headers=Headers(**columns).take(slice(count)),
        addresses=tuple(decoder.addresses),
        skipped=dict(decoder.skipped),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Packets on their way up the layers; all but row are offsets in the file.

    row: in the chunk.  at: of the next header.  end: of what was captured.  stop: where
    the packet ends by what is known so far, which can be past its end.
    """

    row: Column
    at: Column
    end: Column
    stop: Column

    def take(self, rows: Column | Mask) -> "_Rows":
        return _Rows(
            row=self.row[rows],
            at=self.at[rows],
            end=self.end[rows],
            stop=self.stop[rows],
        )

    def moved(self, at: Column, stop: Column) -> "_Rows":
        return _Rows(row=self.row, at=at, end=self.end, stop=stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Datagrams:
    """TCP segments as IP delivers them: where they are, and between whom."""

    rows: _Rows
    src: Column
    dst: Column


class _Decoder:
    """Decodes chunks; owns the addresses met and the count of what was skipped."""

    def __init__(self, data: bytes) -> None:
        self.addresses: list[str] = []
        self.skipped: Counter[str] = Counter()
        self._data = data
        self._bytes = np.frombuffer(data, np.uint8)
        self._ipv4 = PairBook(self._named(ipaddress.IPv4Address))
        self._ipv6 = PairBook(self._named(ipaddress.IPv6Address))

    def headers(self, table: RecordTable) -> Headers:
        """Return the TCP headers of a chunk."""
        rows = _Rows(
            row=np.arange(len(table)),
            at=table.offset,
            end=table.offset + table.captured,
            stop=table.offset + table.wire,
        )
        rows, kind = self._ethernet(rows)
        ipv4 = self._ip_version_4(rows.take(kind == _IPV4_TYPE))
        ipv6 = self._ip_version_6(rows.take(kind == _IPV6_TYPE))
        return self._tcp(_merged(ipv4, ipv6), table.time_ns)

    def _named(
        self, address: type[ipaddress.IPv4Address | ipaddress.IPv6Address]
    ) -> Callable[[int, int], int]:
        def place(high: int, low: int) -> int:
            self.addresses.append(str(address(high << 64 | low)))
            return len(self.addresses) - 1

        return place

    def _sift(self, rows: _Rows, *tests: tuple[str, Mask]) -> tuple[_Rows, Mask]:
        """Return the rows that pass all tests, and which those were.

        Of the others each is counted once, by the first test it fails.
        """
        passed = np.ones(len(rows.row), np.bool_)
        for reason, test in tests:
            failed = int(np.count_nonzero(passed & ~test))
            if failed:
                self.skipped[reason] += failed
                passed &= test
        return (rows if passed.all() else rows.take(passed)), passed

    def _read(
        self, rows: _Rows, layout: np.dtype[np.void]
    ) -> tuple[_Rows, NDArray[np.void]]:
        """Return the next header of each row, without the rows that were cut in it."""
        rows, _ = self._sift(rows, (TOO_SHORT, rows.at + layout.itemsize <= rows.end))
        return rows, gather(self._data, rows.at, layout)

    def _ethernet(self, rows: _Rows) -> tuple[_Rows, Column]:
        """Return rows that stand at their network header, and its EtherType."""
        rows, head = self._read(rows, _ETHERNET)
        kind = head["type"].astype(np.int64)
        at = rows.at + _ETHERNET.itemsize
        for _ in range(_MOST_TAGS):
            tagged = np.isin(kind, _TAG_TYPES)
            if not tagged.any():
                break
            room = ~tagged | (at + _VLAN.itemsize <= rows.end)
            rows, passed = self._sift(rows, (TOO_SHORT, room))
            at, kind, tagged = at[passed], kind[passed], tagged[passed]
            kind[tagged] = gather(self._data, at[tagged], _VLAN)["type"]
            at[tagged] += _VLAN.itemsize
        known = (kind == _IPV4_TYPE) | (kind == _IPV6_TYPE)
        rows, passed = self._sift(rows.moved(at, rows.stop), (NOT_IP, known))
        return rows, kind[passed]

    def _ip_version_4(self, rows: _Rows) -> _Datagrams:
        rows, head = self._read(rows, _IPV4)
        size = (head["version_ihl"] & 0xF).astype(np.int64) * 4
        total = head["tot_len"].astype(np.int64)
        # BIG TCP: a length that does not fit the field is written as 0
        # (Linux commit b1a78b9b9886, "net: add support for ipv4 big tcp", v6.3).
        stop = np.where(total, rows.at + total, rows.stop)
        sound = (head["version_ihl"] >> 4 == _VERSION_4) & (size >= _IPV4.itemsize)
        rows, passed = self._sift(
            rows.moved(rows.at + size, stop),
            (BAD_IPV4, sound & (rows.at + size <= stop)),
            (FRAGMENT_4, head["frag_off"] & _MORE_OR_OFFSET_4 == 0),
            (NOT_TCP, head["protocol"] == _TCP_PROTOCOL),
        )
        head = head[passed]
        none = np.zeros(len(head), np.uint64)
        return _Datagrams(
            rows=rows,
            src=self._ipv4.numbers(none, head["saddr"].astype(np.uint64)),
            dst=self._ipv4.numbers(none, head["daddr"].astype(np.uint64)),
        )

    def _ip_version_6(self, rows: _Rows) -> _Datagrams:
        rows, head = self._read(rows, _IPV6)
        rows, passed = self._sift(rows, (BAD_IPV6, head["version"] >> 4 == _VERSION_6))
        head = head[passed]
        at = rows.at + _IPV6.itemsize
        length = head["payload_len"].astype(np.int64)
        stop = np.where(length, at + length, rows.stop)
        places = np.arange(len(head))
        protocol = head["nexthdr"].astype(np.int64)
        for _ in range(_MOST_EXTENSIONS):
            if not np.isin(protocol, _EXTENSIONS).any():
                break
            rows, passed, protocol = self._extensions(
                rows.moved(at, stop), protocol, jumbo=length[places] == 0
            )
            at, stop, places = rows.at, rows.stop, places[passed]
        rows, passed = self._sift(
            rows.moved(at, stop), (NOT_TCP, protocol == _TCP_PROTOCOL)
        )
        head = head[places[passed]]
        src, dst = (head[name].astype(np.uint64) for name in ("saddr", "daddr"))
        return _Datagrams(
            rows=rows,
            src=self._ipv6.numbers(src[:, 0], src[:, 1]),
            dst=self._ipv6.numbers(dst[:, 0], dst[:, 1]),
        )

    def _extensions(
        self, rows: _Rows, protocol: Column, *, jumbo: Mask
    ) -> tuple[_Rows, Mask, Column]:
        """Step over one extension header where there is one.

        jumbo: packets whose length may stand in a jumbo payload option, which is read
        where it comes first in the header, as Linux writes it (BIG TCP, commit
        81fbc812132c, "ipv6/gro: insert temporary HBH/jumbo header", v5.19); wherever
        else it stands, the wire length says the same.
        """
        extended = np.isin(protocol, _EXTENSIONS)
        room = ~extended | (rows.at + _EXTENSION.itemsize <= rows.end)
        rows, passed = self._sift(rows, (TOO_SHORT, room))
        protocol, jumbo = protocol[passed], jumbo[passed]
        which = np.flatnonzero(extended[passed])
        head = gather(self._data, rows.at[which], _EXTENSION)
        at, stop, kind = rows.at.copy(), rows.stop.copy(), protocol[which]
        sized = jumbo[which] & (kind == _HOP_BY_HOP) & (head["tlv_type"] == _JUMBO)
        sized &= head["tlv_len"] == _JUMBO_LENGTH
        stop[which[sized]] = at[which[sized]] + head["jumbo_payload_len"][sized]
        units = head["hdrlen"].astype(np.int64)
        size = np.where(kind == _AUTHENTICATION, 4 * units + 8, 8 * units + 8)
        at[which] += np.where(kind == _FRAGMENT, _EXTENSION.itemsize, size)
        protocol[which] = head["nexthdr"]
        part = head["tlv_type"].astype(np.int64) << 8 | head["tlv_len"]
        whole = np.ones(len(at), np.bool_)
        whole[which] = (kind != _FRAGMENT) | (part & _MORE_OR_OFFSET_6 == 0)
        rows, kept = self._sift(rows.moved(at, stop), (FRAGMENT_6, whole))
        passed[np.flatnonzero(passed)[~kept]] = False
        return rows, passed, protocol[kept]

    def _tcp(self, datagrams: _Datagrams, time_ns: Column) -> Headers:
        room = datagrams.rows.at + _TCP.itemsize <= datagrams.rows.end
        rows, passed = self._sift(datagrams.rows, (TOO_SHORT, room))
        head = gather(self._data, rows.at, _TCP)
        size = (head["doff"] >> 4).astype(np.int64) * 4
        sound = (size >= _TCP.itemsize) & (rows.at + size <= rows.stop)
        rows, kept = self._sift(rows, (BAD_TCP, sound))
        passed[np.flatnonzero(passed)[~kept]] = False
        head, size = head[kept], size[kept]
        mss, wscale = self._syn_options(rows, size, head["flags"] & SYN != 0)
        return Headers(
            time_ns=time_ns[rows.row],
            src=datagrams.src[passed],
            dst=datagrams.dst[passed],
            sport=head["source"].astype(np.int64),
            dport=head["dest"].astype(np.int64),
            seq=head["seq"].astype(np.int64),
            ack=head["ack_seq"].astype(np.int64),
            flags=head["flags"].astype(np.int64),
            window=head["window"].astype(np.int64),
            length=rows.stop - rows.at - size,
            option_bytes=size - _TCP.itemsize,
            mss=mss,
            wscale=wscale,
        )

    def _syn_options(
        self, rows: _Rows, size: Column, syn: Mask
    ) -> tuple[Column, Column]:
        """Return the MSS and window scale options of the SYNs, as far as captured."""
        mss = np.full(len(syn), ABSENT, np.int64)
        wscale = np.full(len(syn), ABSENT, np.int64)
        first = rows.at + _TCP.itemsize
        end = np.minimum(rows.at + size, rows.end)
        options = self._options(np.flatnonzero(syn), first[syn], end[syn])
        for row, at, kind, length in options:
            sized = (kind == _MSS) & (length == _MSS_LENGTH)
            value = self._bytes[at[sized] + 2].astype(np.int64) << 8
            mss[row[sized]] = value | self._bytes[at[sized] + 3]
            scaled = (kind == _WSCALE) & (length == _WSCALE_LENGTH)
            shift = self._bytes[at[scaled] + 2].astype(np.int64)
            wscale[row[scaled]] = np.minimum(shift, _LARGEST_WSCALE)
        # As in Linux (tcp_parse_options), an MSS of 0 says nothing.
        mss[mss == 0] = ABSENT
        return mss, wscale

    def _options(
        self, row: Column, at: Column, end: Column
    ) -> Iterator[tuple[Column, Column, Column, Column]]:
        """Yield the first option of every row, then the second, and so on.

        Each as (row, offset, kind, length), whole options only.
        """
        while len(row):
            at, end, row = _those(at < end, at, end, row)
            kind = self._bytes[at].astype(np.int64)
            # A lone byte has no length; the last byte of all stands in for it.
            second = self._bytes[np.minimum(at + 1, len(self._bytes) - 1)]
            length = np.where(kind == _NOP, 1, second.astype(np.int64))
            sound = (kind == _NOP) | ((kind != _END) & (length > 1))
            sound &= at + length <= end
            at, end, row, kind, length = _those(sound, at, end, row, kind, length)
            yield row, at, kind, length
            at = at + length


def _those(mask: Mask, *columns: Column) -> tuple[Column, ...]:
    return tuple(column[mask] for column in columns)


def _merged(one: _Datagrams, other: _Datagrams) -> _Datagrams:
    """Return the rows of both in file order."""
    if not len(one.src) or not len(other.src):
        return one if len(one.src) else other
    row = np.concatenate([one.rows.row, other.rows.row])
    order = np.argsort(row)

    def both(first: Column, second: Column) -> Column:
        return np.concatenate([first, second])[order]

    return _Datagrams(
        rows=_Rows(
            row=row[order],
            at=both(one.rows.at, other.rows.at),
            end=both(one.rows.end, other.rows.end),
            stop=both(one.rows.stop, other.rows.stop),
        ),
        src=both(one.src, other.src),
        dst=both(one.dst, other.dst),
    )
