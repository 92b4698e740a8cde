"""What every command has around it: signals, errors to exit codes, a closed pipe.

Apart from main so that a verb which is to start fast need not import all others.
"""

import argparse
import errno
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

from testbed.errors import TestbedError
from testbed.report.plain import printable
from testbed.user import drop_to_invoking_user, file_as_invoking_user

if TYPE_CHECKING:
    from rich.console import Console

_INTERRUPTED = 130
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BROKEN_PIPE = 141  # what a shell says of a command that SIGPIPE ended


def guarded(arguments: argparse.Namespace) -> int:
    """Run arguments.command; return its exit code.

    A verb may say with set_defaults:  lost: what an interrupt makes of what was under
    way, for the user.  takes_root: whether the command is one that takes root, as every
    one with --machine host is; the others give it up under sudo.
    """
    try:
        _take_rights(as_root=_takes_root(arguments))
        return _answered(arguments)
    except TestbedError as error:
        _tell(str(error))
        return error.exit_code
    except BrokenPipeError:
        _write_no_more()
        return _BROKEN_PIPE
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich exits with 1 then
            return _BROKEN_PIPE
        raise
    except Exception as error:  # noqa: BLE001  # 1 would mean "a claim was not"
        return _unexpected(error)
    except KeyboardInterrupt:
        lost = getattr(arguments, "lost", "")
        text = f"testbed: interrupted{lost}"
        _console().print(text, markup=False, highlight=False, soft_wrap=True)
        return _INTERRUPTED


def _answered(arguments: argparse.Namespace) -> int:
    command: Callable[[argparse.Namespace], int] = arguments.command
    status = command(arguments)
    if sys.stdout is not None:  # which it is where the caller closed it
        sys.stdout.flush()  # here a failure can be told; at Python's end it cannot
    return status


def _tell(what: str) -> None:
    _console().print(
        f"testbed: {printable(what)}",
        style="bold red",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _unexpected(error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in _FULL:
        _write_no_more()  # it may have been stdout
        _tell(str(error))
    else:
        told = _console()
        told.print_exception(suppress=["rich"])
        told.print(f"testbed: this is a defect of testbed: {error!r}", markup=False)
    return TestbedError.exit_code


def _write_no_more() -> None:
    """Let what is still to be written to stdout go nowhere, so that it cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _console() -> "Console":
    from rich.console import Console  # noqa: PLC0415  # takes a while to import

    return Console(stderr=True)


def _takes_root(arguments: argparse.Namespace) -> bool:
    on_host = "host" in (getattr(arguments, "machines", None) or ())  # HostMachine.name
    return on_host or getattr(arguments, "takes_root", False)


def _take_rights(*, as_root: bool) -> None:
    if not as_root:
        drop_to_invoking_user()
    elif file_as_invoking_user():
        # What this starts would write it as root, into the user's checkout.
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def take_signals() -> None:
    """Have SIGINT, SIGTERM and SIGHUP interrupt what is under way."""
    # A background job of a script starts with SIGINT ignored, one under nohup with
    # SIGHUP; the first is still meant when it is sent, the second was asked for.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _as_interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _as_interrupt)


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
