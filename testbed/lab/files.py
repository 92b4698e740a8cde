"""Files that are known to have reached the host before anybody relies on them.

The guest's writes to hostfs go through its page cache: a full disk on the host shows at
fsync(), not at write().
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_through(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write; raise OSError unless all of it reaches the host's disk."""
    with path.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def write_json(path: Path, value: object) -> None:
    """Write one JSON value, with its keys in order."""
    text = json.dumps(value, indent=1, sort_keys=True) + "\n"
    with written_through(path) as stream:
        stream.write(text.encode())
