"""The verb clean: what killed runs left, removed."""

import argparse

from testbed.clean import clean


def add_clean(cleaned: argparse.ArgumentParser) -> None:
    """Say what the verb takes. Root's things only root can remove."""
    cleaned.add_argument("--run", metavar="ID", help="of this run alone")
    cleaned.add_argument(
        "--void", action="store_true", help="and the folders of runs without a result"
    )
    cleaned.set_defaults(command=_clean, takes_root=True)


def _clean(arguments: argparse.Namespace) -> int:
    for told in clean(arguments.run, void=arguments.void):
        print(told)
    return 0
