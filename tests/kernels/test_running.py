"""The kernel that runs the tests, as far as it says who it is."""

import os
import re

import pytest

from testbed.kernels.resolve import resolve
from testbed.kernels.running import compiler_in


def test_the_kernel_host_is_the_one_that_runs() -> None:
    known = resolve("host", lambda _told: None).identity

    assert known.name == "host"
    assert known.release == os.uname().release
    assert known.patches == ()
    assert re.fullmatch(r"[0-9a-f]{40}|unknown", known.build_id)


@pytest.mark.parametrize(
    ("version", "compiler"),
    [
        pytest.param(  # Debian 12
            "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12 "
            "(Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP",
            "gcc-12 (Debian 12.2.0-14) 12.2.0",
            id="gcc",
        ),
        pytest.param(
            "Linux version 6.8 (me@here) (clang version 17.0.6, LLD 17.0.6) #1",
            "clang version 17.0.6",
            id="clang",
        ),
        pytest.param("Linux", "unknown", id="silent"),
    ],
)
def test_the_compiler_is_what_proc_version_names(version, compiler) -> None:
    assert compiler_in(version) == compiler
