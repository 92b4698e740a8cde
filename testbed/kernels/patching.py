"""Make a tree hold exactly a set of patches, by rewriting only what differs.

The tree is never patched in place. The files that patches touch are kept as the source
has them, patched in a scratch folder, and compared with the tree; so patches can be
changed, dropped and taken again in any order, and make rebuilds what changed alone.

A user's patches are made against the source, not against what testbed's own make of it:
so they are applied to the source, and what came of both is merged (merging.py).
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.errors import BuildError
from testbed.files import read_or_none, remove, scratch, write_whole
from testbed.kernels.applying import Rejected, apply
from testbed.kernels.folder import BuildFolder, forget_configuration_if_changed
from testbed.kernels.merging import Conflict, merge
from testbed.kernels.patches import Patch


def sync(
    folder: BuildFolder,
    patches: Sequence[Patch],
    user_patches: Sequence[Patch] = (),
    against: str = "the source",
) -> tuple[str, ...]:
    """Make the tree hold the source with these patches; return the files rewritten.

    patches: testbed's own, one on the other.  user_patches: one on the other on the
    source, or where that is no way, on testbed's.  against: what the source is, for
    the BuildError of a patch that does not apply; the tree is then as it was.
    """
    touched = {path for each in (*patches, *user_patches) for path in each.touches}
    _keep_originals(folder, touched)
    with scratch(folder.root / "patching") as work:
        result = _patched(folder, patches, user_patches, work, against)
        wanted = {path: result / path for path in touched}
        for path in _kept(folder.pristine) | _kept(folder.created):
            wanted.setdefault(path, folder.pristine / path)
        changed = {
            path for path, source in wanted.items() if _differs(folder, path, source)
        }
        forget_configuration_if_changed(folder, changed)
        _write(folder, {path: wanted[path] for path in sorted(changed)})
    return tuple(sorted(changed))


def _patched(
    folder: BuildFolder,
    patches: Sequence[Patch],
    user_patches: Sequence[Patch],
    work: Path,
    against: str,
) -> Path:
    """Return a folder that has every touched file as both sets of patches make it."""
    touched = {path for each in (*patches, *user_patches) for path in each.touches}
    ours = _laid_out(folder, touched, work / "ours")
    try:
        for each in patches:
            apply(each, ours)
    except Rejected as why:
        remedy = (
            "start from a kernel whose patches fit (kernel build NAME --source ...) "
            f"or leave this one out (--without {why.patch}); what needs it will say so"
        )
        raise _does_not_apply(why, against, remedy) from why
    if not user_patches:
        return ours
    base = _laid_out(folder, touched, work / "base")
    try:
        theirs = shutil.copytree(base, work / "theirs")
        for each in user_patches:
            apply(each, theirs, exactly=True)
        return merge(base, shutil.copytree(ours, work / "merged"), theirs, touched)
    except (Rejected, Conflict) as why:
        if on_top := _on_top(user_patches, ours, work / "on-top"):
            return on_top
        if isinstance(why, Rejected):
            raise _does_not_apply(why, against) from why
        culprit = _first_in_the_way(patches, base, theirs, why.paths, work / "again")
        raise _collides(why, culprit, folder) from why


def _on_top(user_patches: Sequence[Patch], ours: Path, work: Path) -> Path | None:
    """Apply the user's patches to testbed's tree, as one made there would have it."""
    shutil.copytree(ours, work)
    try:
        for each in user_patches:
            apply(each, work, exactly=True)
    except Rejected:
        return None
    return work


def _does_not_apply(why: Rejected, against: str, remedy: str = "") -> BuildError:
    return BuildError(
        f"the patch {why.patch} does not apply to {against}:\n  "
        + "\n  ".join(why.reasons),
        remedy=remedy or why.remedy,
    )


def _first_in_the_way(
    patches: Sequence[Patch], base: Path, theirs: Path, paths: Sequence[str], work: Path
) -> str:
    """Name the first of testbed's patches that the user's changes collide with."""
    ours = shutil.copytree(base, work / "ours")
    for each in patches:
        apply(each, ours)
        with scratch(work / "merged") as merged:
            shutil.copytree(ours, merged, dirs_exist_ok=True)
            try:
                merge(base, merged, theirs, paths)
            except Conflict:
                return each.name
    return patches[-1].name


def _collides(why: Conflict, culprit: str, folder: BuildFolder) -> BuildError:
    return BuildError(
        "the patch applies to the source, but changes the same lines of "
        f"{', '.join(why.paths)} as testbed's own {culprit}",
        remedy="make it against a tree that has them: `kernel build` without it leaves "
        f"one in {folder.tree}; or leave that out: --without {culprit}",
    )


def _keep_originals(folder: BuildFolder, touched: set[str]) -> None:
    """Copy the files no patch touched before, while the tree still has the source's."""
    for path in sorted(touched - _kept(folder.pristine) - _kept(folder.created)):
        content = read_or_none(folder.tree / path)
        if content is None:
            write_whole(folder.created / path, b"")
        else:
            mode = (folder.tree / path).stat().st_mode & 0o777
            write_whole(folder.pristine / path, content, mode=mode)


def _laid_out(folder: BuildFolder, touched: set[str], work: Path) -> Path:
    """Copy the source's own version of each touched file into a folder; return it."""
    work.mkdir()
    for path in touched & _kept(folder.pristine):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder.pristine / path, work / path)
    return work


def _kept(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }


def _differs(folder: BuildFolder, path: str, source: Path) -> bool:
    return read_or_none(folder.tree / path) != read_or_none(source)


def _write(folder: BuildFolder, changed: Mapping[str, Path]) -> None:
    for path, source in changed.items():
        content = read_or_none(source)
        if content is None:
            remove(folder.tree / path)
        else:
            mode = source.stat().st_mode & 0o777
            write_whole(folder.tree / path, content, mode=mode)
