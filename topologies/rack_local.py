"""Two hosts in one rack: tens of microseconds, 10 to 100 Gbit/s.

    sudo PYTHONPATH=. mn --custom topologies/rack_local.py \\
        --topo rack_local,rate=100gbit,mtu=4168 --controller none
"""

from typing import ClassVar

from topologies.routed import RoutedPair


class RackLocal(RoutedPair):
    """h1 - r - h2, 25 us each way."""

    defaults: ClassVar = {"rtt": "50us", "rate": "10gbit", "queue": 1000}


topos = {"rack_local": RackLocal}
