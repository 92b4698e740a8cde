"""Which kernels can be asked for by name: kernels.yaml as values."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import yaml

from testbed.errors import SpecError
from testbed.spec.kernel import Arch, Kernel

HERE = Path(__file__).parent
REGISTRY = HERE / "kernels.yaml"

#: Of files, for those of User-Mode Linux: 6.12 is 1765 as a bzImage, and 1171.
_STEPS = {Arch.UM: 1.0, Arch.X86_64: 1.5}
_KEYS = ("about", "package", "patches", "configs", "compile_steps")


def load_kernels(arch: Arch = Arch.UM) -> Mapping[str, Kernel]:
    """Return every kernel of kernels.yaml by its name, in the file's order."""
    return parse_kernels(REGISTRY.read_text(encoding="utf-8"), str(REGISTRY), arch)


def nearest_kernel(version: tuple[int, int], arch: Arch = Arch.UM) -> Kernel:
    """Return the registered kernel whose patches fit a source of that version best.

    That is the newest one not newer than the source; the oldest if all are.
    """
    kernels = load_kernels(arch)
    versions = {tuple(int(part) for part in name.split(".")): name for name in kernels}
    below = [each for each in versions if each <= version]
    return kernels[versions[max(below) if below else min(versions)]]


def parse_kernels(text: str, where: str, arch: Arch = Arch.UM) -> Mapping[str, Kernel]:
    """Read a registry. where: names it in errors, which are SpecErrors."""
    try:
        entries = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SpecError(f"{where}: {error}") from error
    if not isinstance(entries, dict):
        raise SpecError(f"{where}: it has to map names to kernels")
    kernels = {}
    for name, entry in entries.items():
        if not isinstance(name, str):
            raise SpecError(f"{where}: the name {name!r} needs quotes")
        kernels[name] = _kernel(name, entry, f"{where}: kernel {name}", arch)
    return MappingProxyType(kernels)


def _kernel(name: str, entry: object, where: str, arch: Arch) -> Kernel:
    if not isinstance(entry, dict):
        raise SpecError(f"{where}: it has to be a mapping")
    unknown = [str(key) for key in entry if key not in _KEYS]
    missing = [key for key in _KEYS if key not in entry]
    if unknown or missing:
        raise SpecError(
            f"{where}: unknown keys: {', '.join(unknown) or 'none'}; "
            f"missing keys: {', '.join(missing) or 'none'}"
        )
    steps = entry["compile_steps"]
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise SpecError(f"{where}: compile_steps is {steps!r}, not a number above 0")
    return Kernel(
        name=name,
        about=_text(entry["about"], f"{where}: about"),
        package=_text(entry["package"], f"{where}: package"),
        source=None,
        patches=_files(entry["patches"], HERE / "patches", f"{where}: patches"),
        configs=(
            *_files(entry["configs"], HERE / "configs", f"{where}: configs"),
            HERE / "configs" / f"{arch.value}.config",
        ),
        arch=arch,
        compile_steps=round(steps * _STEPS[arch]),
    )


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise SpecError(f"{where} is {value!r}, not a text")
    return value


def _files(value: object, folder: Path, where: str) -> tuple[Path, ...]:
    if not isinstance(value, list):
        raise SpecError(f"{where} is {value!r}, not a list of file names")
    paths = tuple(folder / _text(name, where) for name in value)
    for path in paths:
        if not path.is_file():
            raise SpecError(f"{where}: there is no file {path}")
    return paths
