"""Randomness that depends on the seed alone, whatever the machine did before."""

import fcntl
from pathlib import Path

#: Of our patch random-restart; a kernel without it has random numbers of its own.
_RESTART = Path("/sys/module/random/parameters/restart")
_RNDRESEEDCRNG = 0x5207  # _IO('R', 7), linux/random.h


def restart_randomness(seed: int) -> bool:
    """Key the kernel's random numbers from seed; tell whether this kernel can.

    ISNs, ports and timestamp offsets come from secrets made at the first connection,
    netem's losses from a number drawn when the qdisc is made: call it before either.
    """
    if not _RESTART.exists():
        return False
    _RESTART.write_text(str(2 * seed + 1))  # 0 would switch it off
    with Path("/dev/urandom").open("rb") as device:
        fcntl.ioctl(device, _RNDRESEEDCRNG)
    return True
