import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from report.builders import result

from testbed.export.flent import flent_json
from testbed.export.formats import FORMATS, FilesFormat
from testbed.export.voices import voices


def test_the_rates_add_up_to_what_was_acknowledged(tmp_path: Path) -> None:
    voice = next(voices(result(tmp_path)))

    told = flent_json(voice)

    rates = told["results"]["TCP upload"]
    bits = sum(rates) * 1e6 * told["metadata"]["STEP_SIZE"]
    assert bits == pytest.approx(50 * 2000 * 8)
    assert len(rates) == len(told["x_values"]) <= 201


def test_flent_opens_it(tmp_path: Path) -> None:
    flent = FORMATS["flent"]
    assert isinstance(flent, FilesFormat)
    name, content = next(iter(flent.files([result(tmp_path)])))
    (tmp_path / name).write_bytes(content)
    assert gzip.decompress(content)

    ended = subprocess.run(
        [str(Path(sys.executable).with_name("flent")), "-i", name, "-f", "summary"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "TCP upload" in ended.stdout
    assert "tso before-1" in ended.stdout
