"""Names of what a run makes: the hosts of a path, and whose they are."""

from pathlib import Path

#: The hosts of every topology, along the path: sender, router, receiver.
HOSTS = ("h1", "r", "h2")
#: Where `ip netns` looks for network namespaces.
NAMESPACES = Path("/run/netns")
#: What the name of every namespace made by this program begins with.
MARK = "testbed-"
#: In the environment of a lab that shares its kernel with others: the run's id.
RUN_VARIABLE = "TESTBED_RUN"
#: In the environment of a lab whose clock runs ahead while it waits for its files.
PATIENT_VARIABLE = "TESTBED_PATIENT"


def namespace_name(run_id: str, host: str) -> str:
    """Return the name of a host's network namespace, as `ip netns` lists it."""
    return f"{MARK}{run_id}-{host}"


def link_prefix(run_id: str) -> str:
    """Return what the names of a run's links begin with.

    A link's name has 15 bytes at most (IFNAMSIZ, linux/if.h): of the run's id, which
    ends in hex digits drawn for it, those have to do. Namespaces keep links apart.
    """
    return run_id.rpartition("-")[2][:6] + "-"
