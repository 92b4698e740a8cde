"""CUBIC with HyStart. Times in jiffies of 1 ms and in us.

Source: net/ipv4/tcp_cubic.c, Linux 6.12, with the kernel's names.
"""

from testbed.model.congestion import LossBased, cong_avoid_ai, count_ack, slow_start
from testbed.model.cpu import NS_PER_MS, NS_PER_US
from testbed.model.features import Counting
from testbed.model.sock import TcpSock

_HZ = 1000
_USEC_PER_MSEC = 1000
_BICTCP_HZ = 10
_BIC_SCALE = 41
_CUBE_RTT_SCALE = _BIC_SCALE * 10
CUBE_FACTOR = (1 << (10 + 3 * _BICTCP_HZ)) // _CUBE_RTT_SCALE
#: 8 * (1024 + beta) / 3 / (1024 - beta) with beta 717.
_BETA_SCALE = 15
_BETA = 717
_SCALE = 1024  # BICTCP_BETA_SCALE
_INITIAL_CNT = 20  # 5 % a round trip until the first loss
_NO_DELAY = 0xFFFFFFFF
#: ACK_RATIO_SHIFT and ACK_RATIO_LIMIT of Linux 3.18: segments an ACK, times 16.
_RATIO_SHIFT = 4
_RATIO_LIMIT = 32 << _RATIO_SHIFT
#: hystart_low_window, hystart_ack_delta_us, and the bounds of delay detection.
_LOW_WINDOW = 16
_ACK_DELTA_US = 2000
_MIN_SAMPLES = 8
_DELAY_MIN_US = 4000
_DELAY_MAX_US = 16000
#: cubic_root()'s table: cbrt(x << 18) - 1 for x in 0..63, "refined by hand".
_ROOTS = (
    *(0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156),
    *(157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199),
    *(200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229),
    *(231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254),
)
_SMALL_BITS = 7


def cubic_root(value: int) -> int:
    """Return the cube root as the kernel has it: 0.2 % off on average."""
    bits = value.bit_length()
    if bits < _SMALL_BITS:
        return (_ROOTS[value] + 35) >> 6
    bits = ((bits * 84) >> 8) - 1
    root = ((_ROOTS[value >> (bits * 3)] + 10) << bits) >> 6
    root = 2 * root + value // (root * (root - 1))
    return (root * 341) >> 10


class Cubic(LossBased):
    """struct bictcp.

    gso_max_size: sk_gso_max_size.  paced: sk_pacing_status is set.  counting: what an
    ACK counts for beyond slow start.
    """

    __slots__ = (
        "ack_cnt",
        "bic_K",
        "bic_origin_point",
        "cnt",
        "counting",
        "curr_rtt",
        "delay_min",
        "delayed_ack",
        "end_seq",
        "epoch_start",
        "found",
        "gso_max_size",
        "last_ack",
        "last_cwnd",
        "last_max_cwnd",
        "last_time",
        "paced",
        "round_start",
        "sample_cnt",
        "tcp_cwnd",
    )

    def __init__(
        self,
        *,
        gso_max_size: int,
        paced: bool,
        counting: Counting = Counting.SEGMENTS,
    ) -> None:
        self.counting = counting
        self.gso_max_size = gso_max_size
        self.paced = paced
        self._reset()

    def _reset(self) -> None:
        self.cnt = self.last_max_cwnd = self.last_cwnd = self.last_time = 0
        self.bic_origin_point = self.bic_K = self.delay_min = self.epoch_start = 0
        self.ack_cnt = self.tcp_cwnd = 0
        self.delayed_ack = 2 << _RATIO_SHIFT
        self.found = False
        self.sample_cnt = self.round_start = self.end_seq = self.last_ack = 0
        self.curr_rtt = _NO_DELAY

    def begin(self, sock: TcpSock) -> None:
        """Forget what a lost SYN taught: cubictcp_init()."""
        self._reset()

    def pkts_acked(self, sock: TcpSock, now_ns: int, rtt_us: int, acked: int) -> None:
        """Learn of an ACK; leave slow start if the delay grew: cubictcp_acked()."""
        if sock.is_open() and acked:
            ratio = self.delayed_ack - (self.delayed_ack >> _RATIO_SHIFT) + acked
            self.delayed_ack = min(ratio, _RATIO_LIMIT)
        if rtt_us < 0:
            return
        jiffies = now_ns // NS_PER_MS
        if self.epoch_start and jiffies - self.epoch_start < _HZ:
            return
        delay = rtt_us or 1
        if not self.delay_min or self.delay_min > delay:
            self.delay_min = delay
        if not self.found and sock.in_slow_start():
            self._hystart_update(sock, now_ns // NS_PER_US, delay)

    def cong_avoid(self, sock: TcpSock, now_ns: int, acked: int) -> None:
        """Grow cwnd: cubictcp_cong_avoid()."""
        if not sock.cwnd_limited():
            return
        by_ratio = self.counting is Counting.ACK_RATIO
        if sock.in_slow_start():
            acked = slow_start(sock, acked)
            if not acked or by_ratio:
                return
        if self.counting is not Counting.SEGMENTS:
            acked = 1
        self._update(sock.snd_cwnd, now_ns // NS_PER_MS, acked)
        if by_ratio:
            count_ack(sock, self.cnt)
        else:
            cong_avoid_ai(sock, self.cnt, acked)

    def ssthresh(self, sock: TcpSock) -> int:
        """Return 0.7 of cwnd; aim lower if it had shrunk: fast convergence."""
        self.epoch_start = 0
        cwnd = sock.snd_cwnd
        converges = cwnd < self.last_max_cwnd
        self.last_max_cwnd = cwnd
        if converges:
            self.last_max_cwnd = cwnd * (_SCALE + _BETA) // (2 * _SCALE)
        return max(cwnd * _BETA // _SCALE, 2)

    def lost(self, sock: TcpSock, now_ns: int) -> None:
        """Forget everything at a timeout: cubictcp_state()."""
        self._reset()
        self._begin_round(sock, now_ns // NS_PER_US)

    def _update(self, cwnd: int, jiffies: int, acked: int) -> None:
        # What bictcp_update() does; since Linux commit d6b1a8a92a14 (in v3.19) it aims
        # at most once a jiffy, and since d578e18ce93f (in v4.0) cnt is two at least.
        by_ratio = self.counting is Counting.ACK_RATIO
        self.ack_cnt += acked
        if self.last_cwnd == cwnd and jiffies - self.last_time <= _HZ // 32:
            return
        if not self.epoch_start or jiffies != self.last_time or by_ratio:
            self.last_cwnd = cwnd
            self.last_time = jiffies
            if not self.epoch_start:
                self._start_epoch(cwnd, jiffies, acked)
            self._aim(cwnd, jiffies)
        self._be_friendly(cwnd)
        if by_ratio:
            self.cnt = max((self.cnt << _RATIO_SHIFT) // self.delayed_ack, 1)
        else:
            self.cnt = max(self.cnt, 2)

    def _start_epoch(self, cwnd: int, jiffies: int, acked: int) -> None:
        self.epoch_start = jiffies
        self.ack_cnt = acked
        self.tcp_cwnd = cwnd
        if self.last_max_cwnd <= cwnd:
            self.bic_K = 0
            self.bic_origin_point = cwnd
        else:
            self.bic_K = cubic_root(CUBE_FACTOR * (self.last_max_cwnd - cwnd))
            self.bic_origin_point = self.last_max_cwnd

    def _aim(self, cwnd: int, jiffies: int) -> None:
        delay = -(-self.delay_min // _USEC_PER_MSEC)
        time = ((jiffies - self.epoch_start + delay) << _BICTCP_HZ) // _HZ
        offset = abs(time - self.bic_K)
        delta = (_CUBE_RTT_SCALE * offset**3) >> (10 + 3 * _BICTCP_HZ)
        below = time < self.bic_K
        target = self.bic_origin_point + (-delta if below else delta)
        self.cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        if not self.last_max_cwnd:
            self.cnt = min(self.cnt, _INITIAL_CNT)

    def _be_friendly(self, cwnd: int) -> None:
        delta = (cwnd * _BETA_SCALE) >> 3
        while self.ack_cnt > delta:
            self.ack_cnt -= delta
            self.tcp_cwnd += 1
        if self.tcp_cwnd > cwnd:
            self.cnt = min(self.cnt, cwnd // (self.tcp_cwnd - cwnd))

    def _hystart_update(self, sock: TcpSock, now_us: int, delay: int) -> None:
        # Since Linux commit 25c1a9ca53db (in v6.14, and in v6.12.y), every round begins
        # anew, also while cwnd is small.
        if sock.snd_una > self.end_seq:
            self._begin_round(sock, now_us)
        if sock.snd_cwnd < _LOW_WINDOW:
            return
        if self._train_is_long(sock, now_us) or self._delay_grew(delay):
            self.found = True
            sock.snd_ssthresh = sock.snd_cwnd

    def _begin_round(self, sock: TcpSock, now_us: int) -> None:
        self.round_start = self.last_ack = now_us
        self.end_seq = sock.snd_nxt
        self.curr_rtt = _NO_DELAY
        self.sample_cnt = 0

    def _train_is_long(self, sock: TcpSock, now_us: int) -> bool:
        if now_us - self.last_ack > _ACK_DELTA_US:
            return False
        self.last_ack = now_us
        # Since Linux commit 9957b38b5e7a (in v5.19) by sk_gso_max_size, not by 64 KB.
        cushion = self.gso_max_size * 4 * 1_000_000 // max(sock.sk_pacing_rate, 1)
        threshold = self.delay_min + min(cushion, _USEC_PER_MSEC)
        if not self.paced:
            threshold >>= 1
        return now_us - self.round_start > threshold

    def _delay_grew(self, delay: int) -> bool:
        self.curr_rtt = min(self.curr_rtt, delay)
        if self.sample_cnt < _MIN_SAMPLES:
            self.sample_cnt += 1
            return False
        most = min(max(self.delay_min >> 3, _DELAY_MIN_US), _DELAY_MAX_US)
        return self.curr_rtt > self.delay_min + most
