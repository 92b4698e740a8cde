"""The model's rules: since which kernel, from which commit, pinned by what test.

The one place that says so: docs/model.md is written from it (make docs), and
tests/test_history.py holds it, that page and the comments of the code together. No part
of the package, as nothing that runs asks for it. Read first: Commit, Rule, COMMITS,
RULES.
"""

from dataclasses import dataclass

from testbed.model.features import Counting, Defer, Sizing, Tsq


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit of Linux, and how far it was checked.

    hash: 12 hex digits.  since: the first release with it.  seen: where hash and
    subject stand together.  dated: what says which release that was.
    """

    hash: str
    subject: str
    since: str
    seen: str
    dated: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the model.

    kernels: what behaves so.  where: module.name, in testbed/model.  pins:
    module.test, in tests/model without "test_".  commits: hashes, of COMMITS.  also:
    another source, such as an RFC.  feature: what of Features it is.
    """

    name: str
    kernels: str
    where: str
    pins: tuple[str, ...]
    commits: tuple[str, ...] = ()
    also: str = ""
    feature: object = None


#: What names several of them.
_CGIT = "a public cgit of the kernel"
_BOT = "patchwork bot's mail"
_PUSH = "kernel.org push log"
_LIST = "a public list of commits by release"
_NOTES = "public notes made with git describe --contains"
_TREES = "in Debian's 6.12.117, not in its 6.1.192"

COMMITS: tuple[Commit, ...] = (
    Commit(
        hash="442b9635c569",
        subject="tcp: Increase the initial congestion window to 10",
        since="v2.6.39",
        seen=_CGIT,
        dated="by its date: 2 February 2011",
    ),
    Commit(
        hash="46d3ceabd8d9",
        subject="tcp: TCP Small Queues",
        since="v3.6",
        seen="Fixes: tag, netdev",
        dated=_NOTES,
    ),
    Commit(
        hash="6ba8a3b19e76",
        subject="tcp: Tail loss probe (TLP)",
        since="v3.10",
        seen=f"{_CGIT}, mails to stable",
        dated="by its date: 12 March 2013",
    ),
    Commit(
        hash="95bd09eb2750",
        subject="tcp: TSO packets automatic sizing",
        since="v3.12",
        seen="Fixes: tag of e0bb4ab9dfdd",
        dated="by its date: 29 August 2013",
    ),
    Commit(
        hash="afe4fd062416",
        subject="pkt_sched: fq: Fair Queue packet scheduler",
        since="v3.12",
        seen="Fixes: tag, netdev",
        dated=_LIST,
    ),
    Commit(
        hash="9f9843a751d0",
        subject="tcp: properly handle stretch acks in slow start",
        since="v3.13",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="6ae705323b71",
        subject="tcp: sndbuf autotuning improvements",
        since="v3.13",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="f54b311142a9",
        subject="tcp: auto corking",
        since="v3.14",
        seen="Fixes: tag, netdev",
        dated=_LIST,
    ),
    Commit(
        hash="ca8a22634381",
        subject="tcp: make cwnd-limited checks measurement-based, and gentler",
        since="v3.16",
        seen="Fixes: tag, netdev",
        dated="by its date: 22 May 2014",
    ),
    Commit(
        hash="605ad7f184b6",
        subject="tcp: refine TSO autosizing",
        since="v3.19",
        seen="mail of 8ac8a01092b2",
        dated=_LIST,
    ),
    Commit(
        hash="d649a7a81f3b",
        subject="tcp: limit GSO packets to half cwnd",
        since="v3.19",
        seen="a mail on netdev",
        dated=_LIST,
    ),
    Commit(
        hash="814d488c6126",
        subject="tcp: fix the timid additive increase on stretch ACKs",
        since="v3.19",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="c22bdca94782",
        subject="tcp: fix stretch ACK bugs in Reno",
        since="v3.19",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="9cd981dcf174",
        subject="tcp: fix stretch ACK bugs in CUBIC",
        since="v3.19",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="d6b1a8a92a14",
        subject="tcp: fix timing issue in CUBIC slope calculation",
        since="v3.19",
        seen="a mail of Neal Cardwell's on netdev, 26 August 2024",
        dated="by its date: 28 January 2015, with 9cd981dcf174",
    ),
    Commit(
        hash="9949afa42be0",
        subject=(
            "tcp: fix tcp_cong_avoid_ai() credit accumulation bug with decreases in w"
        ),
        since="v4.0",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="d578e18ce93f",
        subject=(
            "tcp: restore 1.5x per RTT limit to CUBIC cwnd growth in congestion "
            "avoidance"
        ),
        since="v4.0",
        seen=_LIST,
        dated=_LIST,
    ),
    Commit(
        hash="5f852eb536ad",
        subject="tcp: tso: remove tp->tso_deferred",
        since="v4.1",
        seen=_CGIT,
        dated="by its date: 28 February 2015; not in the source of 4.0.5",
    ),
    Commit(
        hash="50c8339e9299",
        subject="tcp: tso: restore IW10 after TSO autosizing",
        since="v4.1",
        seen=f"{_CGIT}, Fixes: tag",
        dated="by its date: 28 February 2015; not in the source of 4.0.5",
    ),
    Commit(
        hash="43e122b014c9",
        subject="tcp: refine pacing rate determination",
        since="v4.3",
        seen="Fixes: tag, netdev",
        dated=_NOTES,
    ),
    Commit(
        hash="75eefc6c59fd",
        subject="tcp: tsq: add a shortcut in tcp_small_queue_check()",
        since="v4.10",
        seen="mail of f921a4a5bffa",
        dated="by its series' date: 3 December 2016, for net-next",
    ),
    Commit(
        hash="218af599fa63",
        subject="tcp: internal implementation for pacing",
        since="v4.13",
        seen="Fixes: tag, netdev",
        dated=_NOTES,
    ),
    Commit(
        hash="0a6b2a1dc2a2",
        subject="tcp: switch to GSO being always on",
        since="v4.17",
        seen="mails on netdev",
        dated="a mail on netdev: introduced in 4.17; by its date: 19 February 2018",
    ),
    Commit(
        hash="5d9f4262b7ea",
        subject="tcp: add SACK compression",
        since="v4.18",
        seen="Fixes: tag, netdev",
        dated="by its date: 17 May 2018, for net-next",
    ),
    Commit(
        hash="ab408b6dc744",
        subject="tcp: switch tcp and sch_fq to new earliest departure time model",
        since="v4.20",
        seen="Fixes: tag, netdev",
        dated=_NOTES,
    ),
    Commit(
        hash="a682850a114a",
        subject="tcp: get rid of tcp_tso_should_defer() dependency on HZ/jiffies",
        since="v5.0",
        seen=_CGIT,
        dated="by its date: 11 November 2018",
    ),
    Commit(
        hash="c73e5807e4f6",
        subject="tcp: tsq: no longer use limit_output_bytes for paced flows",
        since="v5.0",
        seen=f"{_CGIT}, mail of c4221a8cc3a7",
        dated=f"{_NOTES}; by its date: 11 November 2018",
    ),
    Commit(
        hash="8ac8a01092b2",
        subject="sis900: fix TX completion",
        since="v5.2",
        seen="mails to stable",
        dated="by its date: applied to net on 22 June 2019",
    ),
    Commit(
        hash="051ba67447de",
        subject="tcp: force a PSH flag on TSO packets",
        since="v5.4",
        seen="a mail on netdev",
        dated="by its date: 10 September 2019",
    ),
    Commit(
        hash="42f3a8aaae66",
        subject="tcp_cubic: tweak Hystart detection for short RTT flows",
        since="v5.6",
        seen=_CGIT,
        dated="by its date: 27 December 2019",
    ),
    Commit(
        hash="ede656e84658",
        subject="tcp_cubic: make Hystart aware of pacing",
        since="v5.6",
        seen=_CGIT,
        dated="by its date: 27 December 2019",
    ),
    Commit(
        hash="65466904b015",
        subject="tcp: adjust TSO packet sizes based on min_rtt",
        since="v5.18",
        seen=_PUSH,
        dated=_NOTES,
    ),
    Commit(
        hash="7c4e983c4f3c",
        subject="net: allow gso_max_size to exceed 65536",
        since="v5.19",
        seen=f"{_PUSH}, {_BOT}, Fixes: tags",
        dated="a public table of enabling commits",
    ),
    Commit(
        hash="34b92e8d19da",
        subject="net: limit GSO_MAX_SIZE to 524280 bytes",
        since="v5.19",
        seen=f"{_PUSH}, {_BOT}",
        dated="by its date: 16 May 2022, in net-next",
    ),
    Commit(
        hash="9957b38b5e7a",
        subject="tcp_cubic: make hystart_ack_delay() aware of BIG TCP",
        since="v5.19",
        seen=f"{_PUSH}, {_BOT}",
        dated="by its date: 16 May 2022, in net-next",
    ),
    Commit(
        hash="81fbc812132c",
        subject="ipv6/gro: insert temporary HBH/jumbo header",
        since="v5.19",
        seen=f"{_PUSH}, {_BOT}",
        dated="by its date: 16 May 2022, in net-next",
    ),
    Commit(
        hash="b1a78b9b9886",
        subject="net: add support for ipv4 big tcp",
        since="v6.3",
        seen=f"{_PUSH}, {_BOT}",
        dated="by its date: 2 February 2023, in net-next",
    ),
    Commit(
        hash="bf9f1baa279f",
        subject="net: add dedicated kmem_cache for typical/small skb->head",
        since="v6.3",
        seen=f"{_PUSH}, {_BOT}",
        dated=f"a security advisory; {_TREES}",
    ),
    Commit(
        hash="f921a4a5bffa",
        subject=(
            "tcp: tsq: relax tcp_small_queue_check() when rtx queue contains a single "
            "skb"
        ),
        since="v6.6",
        seen=f"{_PUSH}, mails to stable",
        dated="Debian's changelog: backported in 6.5.9",
    ),
    Commit(
        hash="dfa2f0483360",
        subject="tcp: get rid of sysctl_tcp_adv_win_scale",
        since="v6.6",
        seen=_PUSH,
        dated=f"by its date: July 2023, in net-next; {_TREES}",
    ),
    Commit(
        hash="133c4c0d3717",
        subject="tcp: defer regular ACK while processing socket backlog",
        since="v6.7",
        seen=_PUSH,
        dated=f"by its date: 12 September 2023, in net-next; {_TREES}",
    ),
    Commit(
        hash="8ee602c63520",
        subject="tcp: try to send bigger TSO packets",
        since="v6.10",
        seen=f"{_PUSH}, Fixes: tag",
        dated=f"by its date: April 2024, in net-next; {_TREES}",
    ),
    Commit(
        hash="697a6c8cec03",
        subject="tcp: increase the default TCP scaling ratio",
        since="v6.10",
        seen=f"{_PUSH}, {_BOT}",
        dated=f"by its date: April 2024, in net-next; {_TREES}",
    ),
    Commit(
        hash="25c1a9ca53db",
        subject="tcp_cubic: fix incorrect HyStart round start detection",
        since="v6.14",
        seen=f"{_PUSH}, mails to stable",
        dated="Debian's changelog: backported in 6.12.13",
    ),
    Commit(
        hash="c4221a8cc3a7",
        subject="tcp: always use tcp_limit_output_bytes limitation",
        since="v6.16",
        seen=f"{_PUSH}, {_BOT}",
        dated="by its date: 15 May 2025, in net-next",
    ),
    Commit(
        hash="295ce1eb36ae",
        subject="tcp: fix tcp_tso_should_defer() vs large RTT",
        since="v6.18",
        seen=_PUSH,
        dated=(
            "by its date: 14 October 2025, in net; Debian's changelog: backported in "
            "6.12.55"
        ),
    ),
)

RULES: tuple[Rule, ...] = (
    # What sets the size of a packet.
    Rule(
        name="pacing rate: 200 % of cwnd per srtt below ssthresh / 2, 120 % from there",
        kernels="4.3 on",
        where="sizing.pacing_ratio",
        pins=(
            "sizing.test_pacing_slows_down_from_half_of_ssthresh_on",
            "sizing.test_the_initial_pacing_rate_is_twice_ten_segments_a_round_trip",
        ),
        commits=("43e122b014c9",),
    ),
    Rule(
        name="sized at sendmsg(): half a millisecond of the rate",
        kernels="3.12 to 3.18; the switch sendmsg_autosize",
        where="sizing.sendmsg_goal",
        pins=(
            "sizing.test_sendmsg_aimed_at_half_a_millisecond",
            "output.test_skbs_sized_at_sendmsg_leave_as_they_were_built",
        ),
        commits=("95bd09eb2750",),
        feature=Sizing.SENDMSG,
    ),
    Rule(
        name="sized when sent, but deferred for the goal of sendmsg()",
        kernels="none: v1 of 605ad7f184b6; the switch defer_unsized",
        where="output.Output._defers",
        pins=("output.test_v1_of_2014_waited_for_the_goal_of_sendmsg",),
        also="netdev, December 2014",
        feature="defer_unsized",
    ),
    Rule(
        name="autosize: sized when sent, a millisecond of the rate",
        kernels="3.19 to 5.17",
        where="sizing.tso_autosize",
        pins=(
            "sizing.test_before_5_18_the_min_rtt_does_not_count",
            "output.test_packets_are_as_large_as_a_millisecond_of_the_rate",
        ),
        commits=("605ad7f184b6",),
        feature=Sizing.XMIT,
    ),
    Rule(
        name="autosize: more, the shorter the min_rtt",
        kernels="5.18 on",
        where="sizing.tso_autosize",
        pins=("sizing.test_a_shorter_min_rtt_makes_larger_packets",),
        commits=("65466904b015",),
        feature=Sizing.XMIT_MIN_RTT,
    ),
    Rule(
        name="growth: a short packet is filled up from the next skb",
        kernels="6.10 on",
        where="rules.grow",
        pins=(
            "output.test_a_short_skb_is_filled_up_from_the_next_since_6_10",
            "output.test_a_short_skb_stays_short_before_6_10",
        ),
        commits=("8ee602c63520",),
        feature="grow",
    ),
    Rule(
        name="cwnd quota: half of cwnd at most",
        kernels="3.19 on",
        where="sizing.cwnd_quota",
        pins=(
            "sizing.test_a_packet_takes_half_of_cwnd_at_most",
            "output.test_a_packet_takes_no_more_than_half_of_cwnd",
        ),
        commits=("d649a7a81f3b",),
    ),
    Rule(
        name="an skb is at most half the largest window seen long",
        kernels="6.1 and 6.12, read",
        where="sizing.bound_to_half_window",
        pins=("sizing.test_an_skb_is_at_most_half_the_largest_window",),
        also="tcp_bound_to_half_wnd()",
    ),
    Rule(
        name="Nagle, as Minshall has it",
        kernels="6.1 and 6.12, read",
        where="rules.nagle_holds",
        pins=("output.test_nagle_holds_a_second_short_segment",),
        also="RFC 896; tcp_nagle_check()",
    ),
    Rule(
        name="auto corking: a short packet waits for one still in the host",
        kernels="3.14 on",
        where="writer.Writer._push",
        pins=("writer.test_a_short_packet_waits_for_one_that_is_still_in_the_host",),
        commits=("f54b311142a9",),
    ),
    Rule(
        name="BIG TCP: packets beyond 64 KB, whose length takes 8 bytes more (IPv6)",
        kernels="5.19 on, where the device is told to",
        where="output.Output.transmit",
        pins=(
            "simulate.test_big_tcp_sends_packets_beyond_64_kb",
            "simulate.test_the_length_of_a_big_packet_takes_eight_bytes_more",
        ),
        commits=("34b92e8d19da", "81fbc812132c"),
    ),
    # What keeps a packet.
    Rule(
        name="deferral: only within a millisecond of the last packet",
        kernels="5.0 on; 4.1 to 4.20 within a jiffy, not modelled",
        where="rules.should_defer",
        pins=("output.test_a_packet_is_deferred_only_if_it_is_worth_it",),
        commits=("5f852eb536ad", "a682850a114a"),
    ),
    Rule(
        name="ANY: the next ACK may be however far away",
        kernels="to 4.0; the switch defer_far",
        where="rules._is_far",
        pins=("output.test_how_far_the_ack_may_be",),
        also="what 50c8339e9299 changed",
        feature=Defer.ANY,
    ),
    Rule(
        name="HALF_RTT: no deferral for half an srtt after the oldest packet",
        kernels="4.1 to 6.17, until what follows was backported",
        where="rules._is_far",
        pins=("output.test_how_far_the_ack_may_be",),
        commits=("50c8339e9299",),
        feature=Defer.HALF_RTT,
    ),
    Rule(
        name="ONE_MS: deferral if the ACK is min(1 ms, srtt / 2) away",
        kernels="6.18 on; 6.12.55 on; Debian's 6.1.192",
        where="rules._is_far",
        pins=("output.test_how_far_the_ack_may_be",),
        commits=("295ce1eb36ae",),
        feature=Defer.ONE_MS,
    ),
    Rule(
        name="TSQ: the larger of limit_output_bytes and 1 ms",
        kernels="to 3.18, as the switch sendmsg_autosize has it",
        where="sizing.tsq_limit",
        pins=(
            "sizing.test_small_queues_of_a_fast_flow",
            "sizing.test_small_queues_of_a_slow_flow",
        ),
        commits=("46d3ceabd8d9", "95bd09eb2750"),
        feature=Tsq.SENDMSG,
    ),
    Rule(
        name="TSQ: 2 packets or 1 ms, at most limit_output_bytes",
        kernels="3.19 to 4.20; 6.16 on",
        where="sizing.tsq_limit",
        pins=(
            "sizing.test_small_queues_of_a_fast_flow",
            "sizing.test_small_queues_of_a_slow_flow",
        ),
        commits=("605ad7f184b6", "c4221a8cc3a7"),
        feature=Tsq.MIN,
    ),
    Rule(
        name="TSQ: the larger of 2 packets, 1 ms and limit_output_bytes",
        kernels="none: rejected",
        where="sizing.tsq_limit",
        pins=(
            "sizing.test_small_queues_of_a_fast_flow",
            "sizing.test_small_queues_of_a_slow_flow",
        ),
        also="Sergej Benilov, netdev, 28 May 2019",
        feature=Tsq.MAX,
    ),
    Rule(
        name="TSQ: 2 packets or 1 ms; limit_output_bytes for unpaced flows only",
        kernels="5.0 to 6.15",
        where="sizing.tsq_limit",
        pins=(
            "sizing.test_small_queues_of_a_fast_flow",
            "output.test_small_queues_hold_what_would_be_a_third_packet",
        ),
        commits=("c73e5807e4f6",),
        feature=Tsq.UNPACED_ONLY,
    ),
    Rule(
        name="TSQ: never with one packet or none unacknowledged",
        kernels="4.10 to 4.14; 6.6 on; 6.5.9 on; Debian's 6.1.192; between, with none",
        where="output.Output.queue_is_full",
        pins=(
            "output.test_small_queues_let_a_second_packet_go_however_much_is_queued",
            "output.test_small_queues_held_every_packet_before_4_10",
        ),
        commits=("75eefc6c59fd", "f921a4a5bffa"),
        feature="short_queue_passes",
    ),
    Rule(
        name="late TX completion: with a full ring, or a delay after the first packet",
        kernels="none: the switch veth.late_tx_device",
        where="path.LateDevice",
        pins=(
            "path.test_a_late_device_completes_all_it_holds_a_delay_after_the_first",
            "path.test_a_late_device_completes_a_full_ring_at_once_and_starts_anew",
            "simulate.test_a_late_device_starves_a_sender_under_the_minimum_of_small_queues",
        ),
        commits=("8ac8a01092b2",),
    ),
    Rule(
        name="skb overhead: 576 bytes of head, not 512, and 256 of struct sk_buff",
        kernels="6.3 on",
        where="features.Features",
        pins=(
            "features.test_skbs_are_charged_a_kmalloc_head_of_512_bytes_in_6_1",
            "simulate.test_in_6_1_2014_takes_the_kernels_number_of_packets",
        ),
        commits=("bf9f1baa279f",),
        feature="skb_overhead",
    ),
    Rule(
        name="send buffer: two windows of cwnd, unless SO_SNDBUF is set",
        kernels="3.13 on",
        where="sock.sndbuf_wanted",
        pins=("sock.test_the_send_buffer_has_room_for_two_windows",),
        commits=("6ae705323b71",),
    ),
    # Pacing.
    Rule(
        name="earliest departure times; a late packet earns up to half of its time",
        kernels="4.20 on",
        where="output.Output._pace",
        pins=("output.test_a_late_packet_earns_up_to_half_of_its_time",),
        commits=("ab408b6dc744",),
    ),
    Rule(
        name="the first ten segments are not paced",
        kernels="6.1 and 6.12, read",
        where="output.Output._pace",
        pins=("output.test_pacing_begins_with_the_tenth_segment",),
        also="tcp_update_skb_after_send()",
    ),
    Rule(
        name="TCP paces itself if SO_MAX_PACING_RATE is set and its device has no fq",
        kernels="4.13 on",
        where="output.Output.must_wait",
        pins=("output.test_a_sender_that_paces_itself_waits_for_its_time",),
        commits=("218af599fa63",),
    ),
    Rule(
        name="fq: departure times, 10 us of timer slack, flow_limit",
        kernels="4.20 on",
        where="path.Fq",
        pins=(
            "path.test_fq_releases_a_packet_up_to_ten_us_late",
            "path.test_fq_drops_what_is_beyond_its_flow_limit_and_says_so",
        ),
        commits=("afe4fd062416", "ab408b6dc744"),
    ),
    # What an ACK does to cwnd.
    Rule(
        name="ten segments to begin with",
        kernels="2.6.39 on",
        where="sock.TcpSock",
        pins=(
            "simulate.test_ten_segments_leave_in_the_first_round_trip",
            "sender.test_ten_segments_leave_at_once",
        ),
        commits=("442b9635c569",),
    ),
    Rule(
        name="slow start counts all that a stretch ACK acknowledges",
        kernels="3.13 on",
        where="congestion.slow_start",
        pins=(
            "congestion.test_slow_start_adds_what_is_acknowledged",
            "congestion.test_slow_start_stops_at_ssthresh_and_returns_the_rest",
        ),
        commits=("9f9843a751d0",),
    ),
    Rule(
        name="so do Reno and CUBIC beyond it",
        kernels="3.19 on",
        where="congestion.cong_avoid_ai",
        pins=(
            "congestion.test_before_3_19_a_stretch_ack_counted_as_one_segment",
            "congestion.test_before_3_19_cubic_counted_acks_too",
        ),
        commits=("814d488c6126", "c22bdca94782", "9cd981dcf174"),
        feature=Counting.SEGMENTS,
    ),
    Rule(
        name="an ACK counts as one segment, however many it acknowledges",
        kernels="none; the switch count_acks at 1",
        where="cubic.Cubic.cong_avoid",
        pins=("congestion.test_before_3_19_cubic_counted_acks_too",),
        also="9cd981dcf174 and 814d488c6126 undone in the simplest way",
        feature=Counting.ACKS,
    ),
    Rule(
        name=(
            "CUBIC counts ACKs, grows the faster the more segments they seem to "
            "acknowledge (32 at most), and aims anew whenever cwnd has changed"
        ),
        kernels="to 3.18; the switch count_acks at 2",
        where="cubic.Cubic._update",
        pins=(
            "congestion.test_cubic_estimated_how_many_segments_an_ack_acknowledges",
            "congestion.test_the_estimate_made_cubic_of_3_18_grow_faster",
            "congestion.test_cubic_of_3_18_aimed_anew_within_a_jiffy",
            "congestion.test_up_to_3_18_one_ack_more_was_counted",
        ),
        commits=("d6b1a8a92a14", "814d488c6126", "9cd981dcf174"),
        feature=Counting.ACK_RATIO,
    ),
    Rule(
        name="credit from a larger window is worth one segment",
        kernels="4.0 on",
        where="congestion.cong_avoid_ai",
        pins=("congestion.test_credit_from_a_larger_window_is_worth_one_segment",),
        commits=("9949afa42be0",),
    ),
    Rule(
        name="Reno: a segment a round trip, half of cwnd after a loss",
        kernels="6.1 and 6.12, read",
        where="congestion.Reno",
        pins=(
            "congestion.test_reno_adds_a_segment_a_round_trip",
            "sender.test_in_recovery_less_leaves_than_arrives",
        ),
        also="RFC 5681",
    ),
    Rule(
        name="CUBIC: the cubic, 5 % a round trip until the first loss, 0.7 after one",
        kernels="6.1 and 6.12, read",
        where="cubic.Cubic",
        pins=(
            "congestion.test_cubic_grows_by_a_twentieth_until_the_first_loss",
            "congestion.test_cubic_keeps_seven_tenths_and_aims_lower_if_it_had_shrunk",
        ),
        also="RFC 9438",
    ),
    Rule(
        name="CUBIC: half of cwnd a round trip at most",
        kernels="4.0 on",
        where="cubic.Cubic._update",
        pins=("congestion.test_cubic_grows_by_half_at_most",),
        commits=("d578e18ce93f",),
    ),
    Rule(
        name="HyStart: leaves slow start when the delay grows",
        kernels="6.1 and 6.12, read",
        where="cubic.Cubic._delay_grew",
        pins=(
            "congestion.test_hystart_leaves_slow_start_when_the_delay_grows",
            "congestion.test_hystart_waits_for_sixteen_segments",
        ),
        also="hystart_update()",
    ),
    Rule(
        name="HyStart: or after a train of ACKs as long as the delay; half, if unpaced",
        kernels="5.6 on",
        where="cubic.Cubic._train_is_long",
        pins=(
            "congestion.test_hystart_leaves_slow_start_after_a_long_train",
            "congestion.test_a_train_may_be_as_long_as_the_delay_and_four_packets",
        ),
        commits=("ede656e84658",),
    ),
    Rule(
        name="ACK train cushion: four packets of gso_max_size, 1 ms at most",
        kernels="5.19 on; from 5.6 of 64 KB, not modelled",
        where="cubic.Cubic._train_is_long",
        pins=("congestion.test_a_train_may_be_as_long_as_the_delay_and_four_packets",),
        commits=("42f3a8aaae66", "9957b38b5e7a"),
    ),
    Rule(
        name="HyStart: rounds begin anew while cwnd is small, too",
        kernels="6.14 on; 6.12.13 on; Debian's 6.1.192",
        where="cubic.Cubic._hystart_update",
        pins=("congestion.test_hystarts_rounds_begin_anew_while_cwnd_is_small",),
        commits=("25c1a9ca53db",),
    ),
    Rule(
        name="cwnd validation: grows if it is what limits, shrinks if it long was not",
        kernels="3.16 on",
        where="validation.cwnd_validate",
        pins=(
            "validation.test_cwnd_stays_limited_until_the_window_is_acknowledged",
            "validation.test_cwnd_that_is_not_used_for_an_rto_is_taken_back_by_half",
            "congestion.test_slow_start_may_double_what_was_out",
        ),
        commits=("ca8a22634381",),
        also="RFC 2861",
    ),
    # Losses.
    Rule(
        name="SACK tagging: packets are cut where a block begins or ends",
        kernels="6.12, read",
        where="scoreboard.tag",
        pins=("sender.test_a_packet_is_cut_where_a_sack_block_begins",),
        also="RFC 2018; tcp_match_skb_to_sack()",
    ),
    Rule(
        name="RACK: lost if one sent later was delivered, and min_rtt / 4 has passed",
        kernels="6.12, read",
        where="rack.detect_loss",
        pins=(
            "sender.test_the_first_is_lost_once_three_behind_it_are_sacked",
            "sender.test_two_sacked_segments_have_it_wait_a_quarter_of_min_rtt",
        ),
        also="RFC 8985; tcp_rack_detect_loss()",
    ),
    Rule(
        name="PRR: in recovery, less leaves than arrives",
        kernels="6.12, read",
        where="recovery.Recovery.cwnd_reduction",
        pins=("sender.test_in_recovery_less_leaves_than_arrives",),
        also="RFC 6937; tcp_cwnd_reduction()",
    ),
    Rule(
        name="TLP: a silent tail is probed after two round trips",
        kernels="3.10 on; as in 6.12",
        where="retransmit.Retransmit.schedule_loss_probe",
        pins=(
            "sender.test_a_tail_that_nobody_acknowledges_is_probed_after_two_round_trips",
        ),
        commits=("6ba8a3b19e76",),
        also="RFC 8985",
    ),
    Rule(
        name="RTO: srtt and the variance, which is 200 ms at least; then twice as long",
        kernels="6.12, read",
        where="rtt.learn_rtt",
        pins=(
            "sender.test_a_timeout_comes_after_srtt_and_200_ms_and_sends_the_first_again",
            "sender.test_each_timeout_is_twice_as_long_as_the_one_before",
        ),
        also="RFC 6298; tcp_rtt_estimator()",
    ),
    Rule(
        name="F-RTO: new data after a timeout, to learn whether it was right",
        kernels="6.12, read",
        where="recovery.Recovery._doubt_timeout",
        pins=(
            "sender.test_after_a_timeout_new_data_is_sent_to_learn_whether_it_was_right",
        ),
        also="RFC 5682; tcp_process_loss()",
    ),
    Rule(
        name="undo: a reduction that was not needed is taken back",
        kernels="6.12, read",
        where="recovery.Recovery._undo",
        pins=(
            "sender.test_a_timeout_is_undone_if_the_echo_is_the_originals",
            "sender.test_a_recovery_is_undone_if_all_it_sent_again_came_twice",
        ),
        also="RFC 3522, RFC 3708; tcp_undo_cwnd_reduction()",
    ),
    # The receiver.
    Rule(
        name="quick ACKs at first",
        kernels="6.12, read",
        where="rcv_sock.RcvSock.in_quickack_mode",
        pins=("receiver.test_single_segments_are_acknowledged_at_once_at_first",),
        also="tcp_enter_quickack_mode()",
    ),
    Rule(
        name="quick ACKs again after a silence beyond RTO",
        kernels="6.12, read",
        where="receiver.Receiver._adapt_delay",
        pins=(
            "receiver.test_after_a_silence_beyond_rto_a_lone_segment_is_acknowledged_at_once",
        ),
        also="tcp_event_data_recv()",
    ),
    Rule(
        name="then delayed ACKs: 40 ms, or more than a segment",
        kernels="6.12, read",
        where="acks.Acks.check",
        pins=(
            "receiver.test_a_lone_segment_waits_for_40_ms_once_quick_acks_are_spent",
            "receiver.test_a_packet_of_several_segments_has_one_ack",
        ),
        also="RFC 5681; tcp_send_delayed_ack()",
    ),
    Rule(
        name="ACKs wait while the process owns the socket",
        kernels="6.7 on",
        where="acks.Acks.check",
        pins=("receiver.test_packets_that_come_while_the_process_reads_have_one_ack",),
        commits=("133c4c0d3717",),
    ),
    Rule(
        name="SACK and D-SACK blocks, the newest first",
        kernels="6.12, read",
        where="out_of_order.OutOfOrder",
        pins=(
            "receiver.test_what_lies_beyond_a_gap_is_told_by_a_sack_block",
            "receiver.test_what_comes_twice_is_told_first",
        ),
        also="RFC 2018, RFC 2883; tcp_sack_new_ofo_skb()",
    ),
    Rule(
        name="SACK compression: three duplicate ACKs, then one for up to 44",
        kernels="4.18 on; as in 6.12",
        where="acks.Acks._compress",
        pins=(
            "receiver.test_three_duplicate_acks_go_at_once_and_further_ones_are_compressed",
        ),
        commits=("5d9f4262b7ea",),
    ),
    Rule(
        name="a window is worth what payload its memory can hold; half at first",
        kernels="6.6 on, half from 6.10; before, always half, not modelled",
        where="rcv_sock.RcvSock.window_of",
        pins=(
            "receiver.test_the_syn_ack_offers_half_the_buffer_in_whole_segments",
            "simulate.test_every_ack_and_window_of_2014_is_the_kernels",
        ),
        commits=("dfa2f0483360", "697a6c8cec03"),
    ),
    Rule(
        name="PSH: on packets of several segments, and on what ends a write",
        kernels="5.4 on; before, only on what ends a write",
        where="output.Output._packet_of",
        pins=(
            "output.test_psh_is_on_several_segments_and_on_what_ends_a_write",
            "output.test_psh_stays_with_the_end_of_what_is_cut",
            "reader.test_a_segment_with_psh_is_acknowledged_once_it_is_read",
        ),
        commits=("051ba67447de",),
    ),
    Rule(
        name="window growth: two segments a packet; beyond a gap, if worth its memory",
        kernels="6.12, read",
        where="receiver.Receiver._grow_window",
        pins=(
            "receiver.test_the_first_windows_are_the_kernels",
            "receiver.test_beyond_half_of_tcp_rmem_a_gap_grows_it_if_overhead_is_small",
        ),
        also="tcp_grow_window(), __tcp_grow_window()",
    ),
    Rule(
        name="receive buffer autotuning: what was read in a round trip, and more",
        kernels="6.12, read",
        where="reader.Reader._space_adjust",
        pins=("simulate.test_every_ack_and_window_of_2014_is_the_kernels",),
        also="tcp_rcv_space_adjust()",
    ),
    # The machine.
    Rule(
        name="one CPU: timers with slack run with the interrupt before",
        kernels="6.1 and 6.12 on User-Mode Linux",
        where="cpu.Cpu",
        pins=(
            "cpu.test_a_timer_with_slack_runs_with_an_interrupt_that_comes_first",
            "simulate.test_packets_leave_and_acks_arrive_when_the_kernels_do",
        ),
        also="hrtimer_interrupt()",
    ),
    Rule(
        name="softirqs: what is left once a process is awake, it runs, not ksoftirqd",
        kernels="6.12 on User-Mode Linux, measured",
        where="cpu.Cpu.wake_on_time",
        pins=("cpu.test_who_is_awake_runs_what_softirqs_have_left",),
        also="handle_softirqs(), local_bh_enable()",
    ),
    Rule(
        name="softirqs: after ten rounds ksoftirqd goes on, and TSQ awaits the queues",
        kernels="6.12, read",
        where="cpu.Cpu._run_softirqs",
        pins=(
            "cpu.test_softirqs_that_raise_softirqs_become_ksoftirqds_after_ten_rounds",
            "invariants.test_a_stream_arrives_whole_whatever_is_lost",
        ),
        also="handle_softirqs(), tcp_wfree()",
    ),
    Rule(
        name="the timer wheel: the further ahead, the later",
        kernels="6.12, read",
        where="xmit_timer.wheel_expiry",
        pins=("sender.test_each_timeout_is_twice_as_long_as_the_one_before",),
        also="calc_index()",
    ),
)


def rule_table() -> str:
    """Return RULES in Markdown, a row each."""
    head = ("rule", "kernels", "from", "testbed/model", "pinned by, tests/model")
    return _table(head, [_rule_row(rule) for rule in RULES])


def commit_table() -> str:
    """Return COMMITS in Markdown, a row each."""
    head = ("commit", "subject", "first in", "seen together in", "release known")
    return _table(
        head,
        [(f"`{c.hash}`", c.subject, c.since, c.seen, c.dated) for c in COMMITS],
    )


def _rule_row(rule: Rule) -> tuple[str, ...]:
    by_hash = {each.hash: each for each in COMMITS}
    origins = [
        f"`{each.hash}` {each.subject} ({each.since})"
        for each in map(by_hash.__getitem__, rule.commits)
    ]
    pins = (each.split(".") for each in rule.pins)
    return (
        rule.name,
        rule.kernels,
        "; ".join([*origins, *([rule.also] if rule.also else [])]),
        f"`{rule.where}`",
        ", ".join(f"`test_{module}.py::{name}`" for module, name in pins),
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
