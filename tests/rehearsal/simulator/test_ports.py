import socket

from dra_fleet.rehearsal.simulator.controlplane.ports import free_port, is_free, keep_or_choose, listens


def test_a_free_port_can_be_listened_on() -> None:
    assert is_free(free_port())


def test_a_recorded_port_is_kept_while_it_is_free() -> None:
    port = free_port()
    assert keep_or_choose(port) == port


def test_a_recorded_port_that_someone_else_took_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken: int = other.getsockname()[1]
        assert not is_free(taken)
        assert keep_or_choose(taken) != taken


def test_reports_if_a_server_accepts_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert listens(other.getsockname()[1])
    assert not listens(free_port())
