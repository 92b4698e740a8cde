"""Kernels for the cache of a test: files that were never built."""

from dataclasses import replace
from pathlib import Path

from builders import IDENTITY

from testbed.kernels.cache import install
from testbed.spec.kernel import BuiltKernel, Kernel, KernelIdentity


def recipe(name: str, **given: object) -> Kernel:
    plain: dict[str, object] = {
        "about": "",
        "package": "p",
        "source": None,
        "patches": (),
        "configs": (),
    }
    return Kernel(name=name, **(plain | given))  # type: ignore[arg-type]


def put(
    key: str,
    tmp_path: Path,
    name: str = "k",
    made_of: Kernel | None = None,
    identity: KernelIdentity = IDENTITY,
) -> BuiltKernel:
    """Put a kernel into the cache, named after what it is made of, if that is given."""
    image, config = tmp_path / "image", tmp_path / "config"
    image.write_bytes(b"ELF")
    config.write_text("CONFIG_A=y\n")
    made_of = made_of or recipe(name)
    return install(
        key,
        image=image,
        config=config,
        identity=replace(identity, name=made_of.name, arch=made_of.arch.value),
        recipe=made_of,
    )
