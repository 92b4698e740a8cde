"""The build folder of one source: what lies where in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFolder:
    """A source tree of ours to patch and build, and the notes about it.

    The objects lie in a folder directly below the tree: only there does kbuild name
    its sources relatively, so the kernel is the same wherever the cache is. Its name
    starts with a dot because names that do are no part of a kernel's source.
    """

    root: Path

    @property
    def lock(self) -> Path:
        """Held by the one process that works in this folder."""
        return self.root / "lock"

    @property
    def tree(self) -> Path:
        """The source, patched."""
        return self.root / "tree"

    @property
    def out(self) -> Path:
        """The objects (O=)."""
        return self.tree / ".out"

    @property
    def pristine(self) -> Path:
        """Every file that a patch ever touched, as the source has it."""
        return self.root / "pristine"

    @property
    def created(self) -> Path:
        """An empty file for every file that patches made and the source lacks."""
        return self.root / "created"

    @property
    def source_note(self) -> Path:
        """Which source the tree holds."""
        return self.root / "source"

    @property
    def listing(self) -> Path:
        """Size and time of each file of the user's tree when it was copied."""
        return self.root / "copied.json"

    @property
    def fragment(self) -> Path:
        """The merged options asked for."""
        return self.root / "fragment.config"

    @property
    def configured(self) -> Path:
        """What the .config was made from; absent when it has to be made again."""
        return self.root / "configured"

    @property
    def steps_note(self) -> Path:
        """How many files make built when it last built them all."""
        return self.root / "steps"

    @property
    def making(self) -> Path:
        """Present while make runs: found before it starts, the last one was cut off."""
        return self.root / "making"

    @property
    def log(self) -> Path:
        """Everything the last make printed."""
        return self.root / "build.log"

    def original(self, path: str) -> Path:
        """Return where the source's own version of a file lies."""
        kept = self.pristine / path
        return kept if kept.is_file() else self.tree / path

    def kconfigs(self) -> Iterator[Path]:
        """Find the Kconfig files ARCH=um reads, its own first, in a fixed order."""
        for pattern in ("arch/um/**/Kconfig*", "arch/x86/um/Kconfig*", "arch/Kconfig"):
            yield from sorted(self.tree.glob(pattern))
        for top in sorted(self.tree.iterdir()):
            if top.is_dir() and top.name not in {"arch", self.out.name}:
                yield from sorted(top.rglob("Kconfig*"))


def forget_configuration_if_changed(folder: BuildFolder, paths: set[str]) -> None:
    """Have the .config made again when one of the paths describes options."""
    if any(path.rpartition("/")[2].startswith("Kconfig") for path in paths):
        folder.configured.unlink(missing_ok=True)
