"""What is computed once, on the host, and found by every guest."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from testbed import lab_job
from testbed.lab_job import prepare_lab


def test_the_lab_has_its_byte_code_and_scapys_tables(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    module = tmp_path / "testbed" / "lab.py"
    module.parent.mkdir()
    module.write_text("x = 1\n")
    monkeypatch.setattr(lab_job, "_CHECKOUT", tmp_path)

    prepare_lab()

    assert Path(importlib.util.cache_from_source(str(module))).is_file()
    (tables,) = (tmp_path / "cache/testbed/scapy").glob("[!.]*")
    assert tables_are_found(tables)


def tables_are_found(tables: Path) -> bool:
    """Tell whether scapy, told of them as in a guest, does without parsing vendors."""
    program = "import sys, scapy.data; print('scapy.libs.manuf' in sys.modules)"
    shown = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XDG_CACHE_HOME": str(tables)},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout == "False\n"
