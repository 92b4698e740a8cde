"""`python -m testbed`: start the command line, in the project's own venv if need be.

`make setup` puts what this program needs into .venv beside the package. Called with
another Python (as `sudo python -m testbed` is likely to), it starts over in that one.
"""

import importlib.util
import os
import sys
from pathlib import Path

_NEEDED = (
    *("jinja2", "matplotlib", "mininet", "numba", "numpy", "orjson", "rich", "scapy"),
    *("yaml", "zstandard"),
)
#: Unavailable.exit_code, without its import: this Python may be too old for it.
_UNAVAILABLE = 3
_INTERRUPTED = 130
_VENV = Path(__file__).parent.parent / ".venv"


def _enter_venv() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if not missing and sys.version_info >= (3, 10):
        return
    python = _VENV / "bin" / "python"
    if Path(sys.prefix) != _VENV and python.exists():
        os.execv(python, [str(python), "-m", "testbed", *sys.argv[1:]])  # noqa: S606
    what = f"no {', '.join(missing)}" if missing else "a Python older than 3.10"
    sys.stderr.write(f"testbed: {sys.executable} has {what}\n  to fix it: make setup\n")
    sys.exit(_UNAVAILABLE)


if __name__ == "__main__":
    _enter_venv()
    # Before anything else is imported, or its .pyc files would belong to root.
    sys.dont_write_bytecode = os.geteuid() == 0 and "SUDO_UID" in os.environ
    from testbed.errors import TestbedError
    from testbed.user import file_as_invoking_user

    try:
        file_as_invoking_user()  # whether root is given up depends on the command
    except TestbedError as error:
        sys.stderr.write(f"testbed: {error}\n")
        sys.exit(error.exit_code)
    sys.dont_write_bytecode = False
    try:
        if sys.argv[1:2] == ["inspect"]:
            from testbed.cli.inspect import main as inspect

            sys.exit(inspect(sys.argv[2:]))
        from testbed.cli.main import main

        sys.exit(main())
    except KeyboardInterrupt:  # while modules were loaded
        sys.stderr.write("testbed: interrupted\n")
        sys.exit(_INTERRUPTED)
