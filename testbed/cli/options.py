"""Options that several verbs take."""

import argparse


def add_settings(verb: argparse.ArgumentParser) -> None:
    """Add --set, which changes keys of every variant."""
    verb.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of every variant, such as path.rtt=10ms",
    )
