"""A 40 ms path of 1 Gbit/s: the "40 ms rtt link" of the 2014 patch.

    sudo PYTHONPATH=. mn --custom topologies/long_haul.py --topo long_haul,rtt=10ms \\
        --controller none
"""

from typing import ClassVar

from topologies.routed import RoutedPair


class LongHaul(RoutedPair):
    """h1 - r - h2, 20 ms each way."""

    defaults: ClassVar = {"rtt": "40ms", "rate": "1gbit", "queue": 1000}


topos = {"long_haul": LongHaul}
