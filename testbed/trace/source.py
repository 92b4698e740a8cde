"""Where a capture's bytes come from: a file, stdin or memory, compressed or not.

Bytes are read and decompressed a few MB at a time, in a thread of its own, while the
kernels work on those before; of a file of any size no more is in memory. Start with
opened.
"""

import contextlib
import queue
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import zstandard

from testbed.errors import CaptureError
from testbed.trace.jit import Bytes

STDIN = Path("-")
_PIECE = 1 << 22
_FIRST = 1 << 16  # a small first piece: small files are the most
_SLICE = 1 << 12  # of compressed data; damage takes the rest of one with it
_ZSTD_BLOCK = 1 << 17  # what four bytes may stand for
_ZSTD_SLICE = 1 << 9
_AHEAD = 2  # pieces read before they are asked for
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW = 31  # zlib's name for a gzip header and the largest window
_LARGEST_WINDOW = 1 << 27  # bytes of memory that a zstd stream may ask for


class Damaged(Exception):  # what happened to a stream, not to us
    """A compressed stream ended early or is damaged; its text says how."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator["Source"]:
    """Open a capture, or stdin for "-"; raises CaptureError if that cannot be done."""
    try:
        with contextlib.ExitStack() as stack:
            if path == STDIN and sys.stdin is None:
                raise CaptureError("-: stdin is closed")
            if path == STDIN:
                stream: BinaryIO = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
            else:
                # Unbuffered, as stdin is: who closes a buffered one, or ends, would
                # wait for its lock, and so for whoever is to write into the pipe.
                stream = stack.enter_context(path.open("rb", buffering=0))
            yield stack.enter_context(Source(stream, str(path)))
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror}") from error


class Source:
    """A window on the bytes of a capture, which moves on and never back.

    data: the window's buffer.  at, end: where in it the bytes not yet used stand.
    warnings: what was wrong with the stream so far.
    """

    def __init__(self, stream: BinaryIO, name: str) -> None:
        """Read from a stream, which the caller owns. name: for what is said of it."""
        self.name = name
        self.warnings: list[str] = []
        self.data: Bytes = np.zeros(_FIRST, np.uint8)
        self.at = self.end = 0
        self._passed = 0
        self._stream = stream
        self._pieces: queue.Queue[bytes | Exception | None] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Source":  # noqa: PYI034  # nothing inherits from it
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self._pieces.get_nowait()
        self._thread.join(timeout=1)

    @property
    def position(self) -> int:
        """Return where in the decompressed capture the window's unused part starts."""
        return self._passed + self.at

    def more(self) -> bool:
        """Put more bytes behind those not yet used; say whether there were any."""
        if self._ended:
            return False
        piece = self._pieces.get()
        if piece is None or isinstance(piece, Exception):
            self._ended = True
            if isinstance(piece, Damaged):
                self.warnings.append(f"{self.name}: {piece}")
            elif piece is not None:
                raise piece
            return False
        if piece:
            self._append(piece)
        return True

    def need(self, size: int) -> bool:
        """Have so many bytes in the window, and say whether there are as many."""
        while self.end - self.at < size:
            if not self.more():
                return False
        return True

    def take(self, size: int) -> bytes:
        """Return bytes that need has found to be there, without using them up."""
        return self.data[self.at : self.at + size].tobytes()

    def _append(self, piece: bytes) -> None:
        left = self.end - self.at
        if left + len(piece) > len(self.data):
            data = np.empty(2 * max(left, len(piece)) + _FIRST, np.uint8)
        else:
            data = self.data
        data[:left] = self.data[self.at : self.end]
        data[left : left + len(piece)] = np.frombuffer(piece, np.uint8)
        self.data, self._passed = data, self._passed + self.at
        self.at, self.end = 0, left + len(piece)

    def _run(self) -> None:
        try:
            for piece in _pieces(self._stream):
                if not self._put(piece):
                    return
            self._put(None)
        except Exception as error:  # noqa: BLE001  # raised again by whoever reads
            self._put(error)

    def _put(self, piece: bytes | Exception | None) -> bool:
        while not self._stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._pieces.put(piece, timeout=0.1)
                return True
        return False


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    first = b""
    while len(first) < len(_ZSTD) and (piece := stream.read(_FIRST)):
        first += piece  # a pipe may give them one by one
    if first.startswith(_GZIP):
        return _gunzipped(_raw(first, stream))
    if first.startswith(_ZSTD):
        return _unzstd(_raw(first, stream))
    return _raw(first, stream)


def _raw(first: bytes, stream: BinaryIO) -> Iterator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = stream.read(_PIECE)


def _gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress gzip; what comes before damage is yielded before that is raised."""
    held: list[bytes] = []
    size = 0
    try:
        for out in _inflated(pieces):
            held.append(out)
            size += len(out)
            if size >= _PIECE:
                yield b"".join(held)
                held, size = [], 0
    except zlib.error as error:
        yield b"".join(held)
        raise Damaged(f"damaged gzip data: {error}") from error
    except Damaged:
        yield b"".join(held)
        raise
    yield b"".join(held)


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress some KB at a time, also several members; zeros may pad their end."""
    unzip = zlib.decompressobj(_GZIP_WINDOW)
    for piece in pieces:
        for start in range(0, len(piece), _SLICE):
            left = piece[start : start + _SLICE]
            while left:
                if unzip.eof:
                    left = left.lstrip(b"\0")
                    unzip = zlib.decompressobj(_GZIP_WINDOW) if left else unzip
                if left:
                    yield unzip.decompress(left, _PIECE)
                    left = unzip.unused_data if unzip.eof else unzip.unconsumed_tail
    while not unzip.eof and (out := unzip.decompress(b"", _PIECE)):
        yield out
    if not unzip.eof:
        raise Damaged("the gzip data ends early")


def _unzstd(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Decompress zstd, also several frames; of zeros a slice may hold some MB."""
    frames = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    unzip = frames.decompressobj(write_size=_ZSTD_BLOCK)
    try:
        for piece in pieces:
            for start in range(0, len(piece), _ZSTD_SLICE):
                left = piece[start : start + _ZSTD_SLICE]
                while left:
                    if unzip.eof:
                        unzip = frames.decompressobj(write_size=_ZSTD_BLOCK)
                    yield unzip.decompress(left)
                    left = unzip.unused_data
    except zstandard.ZstdError as error:
        raise Damaged(f"damaged zstd data: {error}") from error
    if not unzip.eof:
        raise Damaged("the zstd data ends early")
