"""The formats that `report --format` knows, by name, and what each makes of results.

A format is one text, for stdout or a file, or it is files: one for each trace, or one
that is not text. Start with FORMATS.
"""

import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from testbed.export.commit import commit_text
from testbed.export.flent import flent_json
from testbed.export.junit import junit_text
from testbed.export.ktap import ktap_text
from testbed.export.series import csv_text, parquet_bytes
from testbed.export.voices import Voice, voices
from testbed.export.xplot import xplot_text
from testbed.report.result import Result

Results = Sequence[Result]
Files = Iterator[tuple[str, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """A format that is one text. about: what it is, for --help."""

    about: str
    text: Callable[[Results], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesFormat:
    """A format that is files. files: yields their names and contents."""

    about: str
    files: Callable[[Results], Files]


def _parquet(results: Results) -> Files:
    yield "packets.parquet", parquet_bytes(results)


def _each_trace(
    suffix: str, content: Callable[[Voice], bytes]
) -> Callable[[Results], Files]:
    def files(results: Results) -> Files:
        for result in results:
            for voice in voices(result):
                yield f"{result.experiment.name}-{voice.name}{suffix}", content(voice)

    return files


def _flent(voice: Voice) -> bytes:
    packed = io.BytesIO()
    # No time of writing in it: the same run gives the same bytes.
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as stream:
        stream.write(json.dumps(flent_json(voice)).encode())
    return packed.getvalue()


def _xplot(voice: Voice) -> bytes:
    title = f"{voice.run.run.experiment.name} {voice.name}: {voice.trace.flow}"
    return xplot_text(voice.trace, title).encode()


FORMATS: Mapping[str, TextFormat | FilesFormat] = {
    "commit": TextFormat(about='the block for a "Tested:" section', text=commit_text),
    "ktap": TextFormat(about="KTAP, as kselftests print", text=ktap_text),
    "junit": TextFormat(about="JUnit XML", text=junit_text),
    "csv": TextFormat(about="a row a packet", text=csv_text),
    "parquet": FilesFormat(about="the same, as packets.parquet", files=_parquet),
    "flent": FilesFormat(
        about="a .flent.gz a run", files=_each_trace(".flent.gz", _flent)
    ),
    "xplot": FilesFormat(
        about="a .xpl a run, as tcptrace -S", files=_each_trace(".xpl", _xplot)
    ),
}
