"""The rule that gave each data packet of a trace its size, a place in CAUSES a packet.

Start with causes_by_packet.
"""

from collections.abc import Sequence

import numpy as np

from testbed.trace.causes import Cause
from testbed.trace.trace import Column, Trace, again

#: A column of causes has the place of a rule among these, or UNTOLD.
CAUSES = tuple(Cause)
UNTOLD = -1
_PLACES = {cause: place for place, cause in enumerate(CAUSES)}


def causes_by_packet(
    trace: Trace, causes: Sequence[Cause], seq: Column | None = None
) -> Column:
    """Return a place in CAUSES for each data packet of a trace, UNTOLD where unknown.

    causes: of the packets of new data.  seq: the first byte of each of those; without
    it they are all there, in order.  A packet sent again has no cause of its own.
    """
    told = np.full(len(trace.seq), UNTOLD, np.int64)
    places = np.array([_PLACES[cause] for cause in causes], np.int64)
    new = np.flatnonzero(~again(trace))
    if seq is None:
        if len(new) == len(places):
            told[new] = places
        return told
    known, first = np.unique(seq, return_index=True)
    if len(known):
        at = np.minimum(np.searchsorted(known, trace.seq[new]), len(known) - 1)
        found = known[at] == trace.seq[new]
        told[new[found]] = places[first[at[found]]]
    return told
