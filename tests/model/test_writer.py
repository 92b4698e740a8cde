import pytest
from builders import a_variant, a_workload

from testbed.model.cpu import Cpu, Machine
from testbed.model.features import Features
from testbed.model.packet import Packet
from testbed.model.sender import Sender
from testbed.spec.settings import HostSettings


@pytest.mark.parametrize(
    ("autocorking", "corked"),
    [pytest.param("1", True, id="on"), pytest.param("0", False, id="off")],
)
def test_a_short_packet_waits_for_one_that_is_still_in_the_host(
    autocorking: str, *, corked: bool
) -> None:
    # tcp_should_autocork(); tcp_wfree() sends it when the one before has left.
    host = HostSettings(sysctls={"net.ipv4.tcp_autocorking": autocorking})
    workload = a_workload(bytes=200, send_size=100, sndbuf=100_000)
    sent: list[Packet] = []
    sender = Sender(
        a_variant(workload=workload, sender=host),
        Features(),
        cpu=Cpu(Machine(tick=1, min_delta=0), 10**9),
        transmit=lambda packet: not sent.append(packet),
        sent=lambda cause: None,
    )
    sender.output.send_syn(again=False)
    syn_ack = Packet(0, 0, 1, 60)
    syn_ack.syn, syn_ack.window = True, 100_000
    sender.take(syn_ack)
    sender.writer.begin()

    assert sender.sock.tsq_throttled == corked
