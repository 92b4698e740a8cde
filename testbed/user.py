"""Who runs this: their rights, root given up before anything starts; their cache."""

import os
import pwd
from pathlib import Path

from testbed.errors import SpecError


def drop_to_invoking_user() -> str | None:
    """Under sudo, become the user who called it; return their name.

    Nothing changes, and None is returned, when this is not root or not under sudo.
    Caches and run directories then belong to that user, and a guest, whatever it does,
    has no more rights on this host than they have.
    """
    uid, gid = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() != 0 or not uid or not gid or uid == "0":
        return None
    try:
        user = pwd.getpwuid(int(uid))
        os.initgroups(user.pw_name, int(gid))
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    except (KeyError, ValueError, OSError) as error:
        raise SpecError(f"cannot become the user who called sudo: {error}") from error
    os.environ["HOME"] = user.pw_dir
    os.environ["USER"] = os.environ["LOGNAME"] = user.pw_name
    return user.pw_name


def cache_dir() -> Path:
    """Return this user's cache folder; it need not exist yet."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification has relative paths ignored.
    base = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return base / "testbed"
