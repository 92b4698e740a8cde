from pathlib import Path

import pytest

from testbed.errors import SpecError
from testbed.kernels.kconfig import parse_config
from testbed.kernels.patches import read_patches
from testbed.kernels.registry import load_kernels, nearest_kernel, parse_kernels
from testbed.spec.kernel import Arch

KERNELS = load_kernels()
ENTRY = """
"1.0":
  about: old
  package: linux-source-1.0
  patches: []
  configs: [net.config]
  compile_steps: 10
"""


def test_three_kernels_are_known_by_name() -> None:
    assert list(KERNELS) == ["6.12", "6.1", "7.3"]
    assert KERNELS["6.12"].package == "linux-source-6.12"


@pytest.mark.parametrize(
    ("version", "name"),
    [
        pytest.param((5, 10), "6.1", id="older-than-all"),
        pytest.param((6, 1), "6.1", id="the-very-one"),
        pytest.param((6, 11), "6.1", id="between"),
        pytest.param((7, 2), "6.12", id="between-majors"),
        pytest.param((8, 0), "7.3", id="newer-than-all"),
    ],
)
def test_a_source_gets_the_patches_of_the_kernel_before_it(
    version: tuple[int, int], name: str
) -> None:
    assert nearest_kernel(version).name == name


def test_an_architecture_has_a_fragment_of_its_own() -> None:
    kernel = load_kernels(Arch.X86_64)["6.12"]

    assert kernel.arch is Arch.X86_64
    assert kernel.configs[-1].name == "x86_64.config"
    assert kernel.patches == KERNELS["6.12"].patches


@pytest.mark.parametrize("name", KERNELS)
def test_every_patch_of_a_kernel_can_be_read(name: str) -> None:
    patches = [each for path in KERNELS[name].patches for each in read_patches(path)]

    assert all(patch.touches for patch in patches)


@pytest.mark.parametrize("name", KERNELS)
def test_every_fragment_of_a_kernel_can_be_read(name: str) -> None:
    texts = [path.read_text() for path in KERNELS[name].configs]

    assert all(parse_config(text, "fragment") for text in texts)


def test_every_shipped_patch_belongs_to_a_kernel() -> None:
    used = {path for kernel in KERNELS.values() for path in kernel.patches}
    folder = next(iter(used)).parent

    assert set(folder.glob("*.patch")) == used


def test_a_registry_entry_becomes_a_kernel() -> None:
    kernel = parse_kernels(ENTRY, "here")["1.0"]

    assert kernel.source is None
    assert [path.name for path in kernel.configs] == ["net.config", "um.config"]
    assert kernel.compile_steps == 10


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param("about: old", "abuot: old", "abuot", id="misspelt-key"),
        pytest.param("about: old", "about: 3", "about", id="about-is-a-number"),
        pytest.param(
            "patches: []", "patches: [x.patch]", "x.patch", id="no-such-patch"
        ),
        pytest.param("patches: []", "patches: x.patch", "list", id="patches-no-list"),
        pytest.param("compile_steps: 10", "compile_steps: 0", "steps", id="no-steps"),
        pytest.param('"1.0"', "1.0", "quotes", id="name-is-a-number"),
        pytest.param("about: old", "about: [", "here", id="no-yaml"),
    ],
)
def test_a_wrong_registry_entry_is_a_spec_error(old: str, new: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        parse_kernels(ENTRY.replace(old, new), "here")


def test_the_registry_names_files_that_are_shipped() -> None:
    paths = [path for kernel in KERNELS.values() for path in kernel.configs]

    assert {path.suffix for path in paths} == {".config"}
    assert all(isinstance(path, Path) and path.is_file() for path in paths)
