"""Who runs this: their rights, root given up before anything starts; their cache."""

import ctypes
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testbed.errors import SpecError

_libc = ctypes.CDLL(None)


def drop_to_invoking_user() -> str | None:
    """Under sudo, become the user who called it; return their name.

    Nothing changes, and None is returned, when this is not root or not under sudo.
    Caches and run directories then belong to that user, and a guest, whatever it does,
    has no more rights on this host than they have.
    """
    user = file_as_invoking_user()
    if user is not None:
        try:
            gid = int(os.environ["SUDO_GID"])
            os.setresgid(gid, gid, gid)
            os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
        except OSError as error:
            raise _cannot(error) from error
    return None if user is None else user.pw_name


def file_as_invoking_user() -> pwd.struct_passwd | None:
    """Under sudo, have files made and read as the user who called it; return who.

    The process stays root in all else, and so does what it starts: for a run on this
    very host, whose files are the user's own all the same. It holds for this thread and
    those that it starts from now on: setfsuid(2).
    """
    uid, gid = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() != 0 or not uid or not gid or uid == "0":
        return None
    try:
        user = pwd.getpwuid(int(uid))
        os.initgroups(user.pw_name, int(gid))
    except (KeyError, ValueError, OSError) as error:
        raise _cannot(error) from error
    _libc.setfsgid(int(gid))
    _libc.setfsuid(int(uid))
    os.environ["HOME"] = user.pw_dir
    os.environ["USER"] = os.environ["LOGNAME"] = user.pw_name
    return user


@contextmanager
def filing_as_root() -> Iterator[None]:
    """Have this thread make and remove files with all the rights it has."""
    gid, uid = _libc.setfsgid(os.getegid()), _libc.setfsuid(os.geteuid())
    try:
        yield
    finally:
        _libc.setfsgid(gid)
        _libc.setfsuid(uid)


def is_root() -> bool:
    """Tell whether what this process starts has root's rights."""
    return os.geteuid() == 0


def _cannot(error: Exception) -> SpecError:
    return SpecError(f"cannot become the user who called sudo: {error}")


def cache_dir() -> Path:
    """Return this user's cache folder; it need not exist yet."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification has relative paths ignored.
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "testbed"
