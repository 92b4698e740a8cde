"""The verb claims: an experiment drafted from a patch mail."""

import argparse
import sys
from pathlib import Path

from testbed.errors import SpecError
from testbed.mail.draft import draft
from testbed.mail.writing import short

_LONGEST = 20_000_000  # bytes; no list takes as long a mail, an archive's page may be


def add_claims(claims: argparse.ArgumentParser) -> None:
    """Say what the verb takes."""
    claims.add_argument("file", type=Path, help="an mbox, a patch, or a mail as text")
    claims.add_argument(
        "--out", type=Path, metavar="FILE", help="write it to a new file, not to stdout"
    )
    claims.set_defaults(command=_claims)


def _mail(path: Path) -> bytes:
    with path.open("rb") as file:  # a device such as /dev/zero never ends
        mail = file.read(_LONGEST + 1)
    if len(mail) > _LONGEST:
        raise SpecError(f"{path}: more than {_LONGEST} bytes is no patch mail")
    return mail


def _claims(arguments: argparse.Namespace) -> int:
    path: Path = arguments.file
    try:
        drafted = draft(_mail(path), str(path))
        if arguments.out:
            with arguments.out.open("x", encoding="utf-8") as file:
                file.write(drafted.yaml)
        else:
            print(drafted.yaml, end="")
    except FileExistsError as error:
        raise SpecError(f"{arguments.out} exists; it is not overwritten") from error
    except OSError as error:
        raise SpecError(f"{error.filename}: {error.strerror}") from error
    for each in drafted.missed:
        told = f"{path}:{each.line.number}: not understood: {short(each.text)}"
        print(told, file=sys.stderr)
    return 0
