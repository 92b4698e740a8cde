"""The build folder of one source: what lies where in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from testbed.spec.kernel import Arch


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFolder:
    """A source tree of ours to patch and build, and the notes about it.

    The objects lie in a folder directly below the tree: only there does kbuild name
    its sources relatively, so the kernel is the same wherever the cache is. Its name
    starts with a dot because names that do are no part of a kernel's source. Each
    architecture has its own, and its own notes; the tree they share.
    """

    root: Path
    arch: Arch = Arch.UM

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
        return self.tree / f".out{self._suffix}"

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
        return self.root / f"fragment{self._suffix}.config"

    @property
    def configured(self) -> Path:
        """What the .config was made from; absent when it has to be made again."""
        return self.root / f"configured{self._suffix}"

    @property
    def steps_note(self) -> Path:
        """How many files make built when it last built them all."""
        return self.root / f"steps{self._suffix}"

    @property
    def making(self) -> Path:
        """Present while make runs: found before it starts, the last one was cut off."""
        return self.root / f"making{self._suffix}"

    @property
    def log(self) -> Path:
        """Everything the last make printed."""
        return self.root / f"build{self._suffix}.log"

    @property
    def used_note(self) -> Path:
        """Its time is when the folder was last built in."""
        return self.root / "used"

    @property
    def size_note(self) -> Path:
        """How many bytes of disk all of it took, measured after a whole build."""
        return self.root / "bytes"

    @property
    def _suffix(self) -> str:
        return "" if self.arch is Arch.UM else f"-{self.arch.value}"

    def original(self, path: str) -> Path:
        """Return where the source's own version of a file lies."""
        kept = self.pristine / path
        return kept if kept.is_file() else self.tree / path

    def kconfigs(self) -> Iterator[Path]:
        """Find the Kconfig files this ARCH reads, its own first, in a fixed order."""
        own = {
            Arch.UM: ("arch/um/**/Kconfig*", "arch/x86/um/Kconfig*"),
            Arch.X86_64: ("arch/x86/**/Kconfig*",),
        }
        for pattern in (*own[self.arch], "arch/Kconfig"):
            yield from sorted(self.tree.glob(pattern))
        for top in sorted(self.tree.iterdir()):
            if top.is_dir() and top.name != "arch" and not top.name.startswith("."):
                yield from sorted(top.rglob("Kconfig*"))


def forget_configuration_if_changed(folder: BuildFolder, paths: set[str]) -> None:
    """Have each .config made again when one of the paths describes options."""
    if any(path.rpartition("/")[2].startswith("Kconfig") for path in paths):
        for note in folder.root.glob("configured*"):
            note.unlink()
