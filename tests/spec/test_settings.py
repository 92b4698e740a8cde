import pytest

from testbed.errors import SpecError
from testbed.spec.settings import HostSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [("gso_max_segs", 0), ("gso_max_segs", 65536), ("gro_max_size", 524_281)],
)
def test_a_link_size_the_kernel_would_not_take_is_refused(
    name: str, value: int
) -> None:
    with pytest.raises(SpecError, match=name):
        HostSettings(link_sizes={name: value})


def test_the_largest_sizes_of_big_tcp_are_taken() -> None:
    assert HostSettings(link_sizes={"gso_max_size": 524_280, "gso_max_segs": 65535})
