"""Names: a namespace bears the whole run id, a link what fits."""

from testbed.spec.names import HOSTS, link_prefix, namespace_name
from testbed.store import new_run_id


def test_a_namespace_bears_the_runs_id() -> None:
    assert namespace_name("20260101T000000Z-abcd", "h1") == (
        "testbed-20260101T000000Z-abcd-h1"
    )


def test_every_link_of_a_run_fits_what_the_kernel_takes() -> None:
    prefix = link_prefix(new_run_id())

    assert all(len(f"{prefix}{host}-eth10") <= 15 for host in HOSTS)


def test_links_of_two_runs_have_names_of_their_own() -> None:
    assert link_prefix("20260101T000000Z-abcd") == "abcd-"
