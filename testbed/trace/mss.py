"""The mss of a flow without SYNs, inferred from its packets' lengths."""

from itertools import product

import numpy as np

from testbed.trace.trace import Column

#: What full segments hold on Ethernet and in jumbo frames: the MTU less the headers of
#: IPv4 or IPv6 and TCP, with and without a timestamp option (12 bytes).
USUAL = tuple(
    mtu - ip - 20 - options
    for mtu, ip, options in product((9000, 1500), (20, 40), (0, 12))
)
_SMALLEST = 536  # RFC 9293, 3.7.1: what any host accepts
_LARGEST = 9216 - 40  # jumbo frames, as large as switches carry them
_ETHERNET = 1460
_MOST_CANDIDATES = 64


def infer_mss(values: Column, counts: Column) -> int:
    """Return the segment size that most packets are a whole number of.

    values: the payload lengths there are, ascending, at least one.  counts: packets of
    each.  Of sizes that explain as many
    packets a usual one wins, then the largest: packets of 2896 bytes are two segments
    of 1448. When nothing is explained, it is the longest packet, within reason.
    """
    plausible = np.flatnonzero((values >= _SMALLEST) & (values <= _LARGEST))
    commonest = plausible[np.argsort(-counts[plausible], kind="stable")]
    seen = values[commonest[:_MOST_CANDIDATES]].tolist()
    sizes = np.array(sorted({*seen, *USUAL}))
    merits = np.where(values % sizes[:, None] == 0, counts, 0).sum(axis=1).tolist()
    explained, _, size = max(
        (merit, size in USUAL, size)
        for merit, size in zip(merits, sizes.tolist(), strict=True)
    )
    if explained:
        return int(size)
    return max(_SMALLEST, min(int(values[-1]), _ETHERNET))
