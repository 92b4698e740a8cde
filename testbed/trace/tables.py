"""Tables that begin where a line of the cache does, so that rows share few lines."""

import numpy as np

from testbed.trace.jit import Table

#: Words of a line of the cache.
LINE = 8
_LINE_BYTES = 8 * LINE


def lined_up(*shape: int) -> Table:
    """Return a table of zeros of a shape."""
    words = int(np.prod(shape))
    room = np.zeros(words + LINE, np.int64)
    first = -room.ctypes.data % _LINE_BYTES // 8
    return room[first : first + words].reshape(shape)
