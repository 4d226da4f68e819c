"""Messages arrive whole, or not at all."""

import os
import socket
import time
from collections.abc import Iterator
from struct import pack
from threading import Thread
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.worker import frames
from benanza_backbone.worker.frames import FrameError

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        yield ours, theirs


@given(messages=st.lists(st.binary(max_size=100), max_size=5), cut=st.integers(1, 20))
def test_messages_arrive_as_they_were_sent(messages: list[bytes], cut: int) -> None:
    """In whichever pieces, one after the other."""
    reader, writer = os.pipe()
    try:
        encoded = b"".join(pack("!I", len(each)) + each for each in messages)
        for at in range(0, len(encoded), cut):
            os.write(writer, encoded[at : at + cut])
        assert [frames.receive(reader, 100) for _ in messages] == messages
        assert frames.is_quiet(reader)
    finally:
        os.close(reader)
        os.close(writer)


def test_what_is_larger_than_the_system_holds_is_sent_in_parts(pair: Pair) -> None:
    ours, theirs = pair
    message = os.urandom(5_000_000)
    deadline = monotonic() + 60
    received: list[bytearray] = []

    def echo() -> None:
        received.append(frames.receive(theirs.fileno(), len(message)))
        frames.send(theirs.fileno(), received[0])

    thread = Thread(target=echo)
    thread.start()
    frames.send(ours.fileno(), message, deadline)
    assert frames.receive(ours.fileno(), len(message), deadline) == message
    thread.join()


def test_too_long_a_message_is_refused_before_it_is_read(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(pack("!I", 11) + b"x")
    with pytest.raises(FrameError, match="a message of 11 bytes, more than 10"):
        frames.receive(ours.fileno(), 10)
    assert ours.recv(10) == b"x"


@pytest.mark.parametrize("begin", [b"", b"\0\0", pack("!I", 5), pack("!I", 5) + b"1234"])
def test_what_is_cut_off_is_none(pair: Pair, begin: bytes) -> None:
    ours, theirs = pair
    theirs.sendall(begin)
    with pytest.raises(TimeoutError):
        frames.receive(ours.fileno(), 10, monotonic() + 0.05)
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(begin)
        theirs.close()
        with pytest.raises(EOFError):
            frames.receive(ours.fileno(), 10)


def test_who_never_stops_does_not_get_more_time(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(pack("!I", 1000))
    stopped = False

    def trickle() -> None:
        while not stopped:
            theirs.send(b"x")
            time.sleep(0.001)

    thread = Thread(target=trickle)
    thread.start()
    with pytest.raises(TimeoutError):
        frames.receive(ours.fileno(), 1000, monotonic() + 0.2)
    stopped = True
    thread.join()


def test_who_takes_long_is_waited_for_until_the_deadline_and_not_for_longer(pair: Pair) -> None:
    ours, theirs = pair

    def later() -> None:
        time.sleep(0.3)
        theirs.sendall(pack("!I", 1) + b"x")

    thread = Thread(target=later)
    thread.start()
    assert frames.receive(ours.fileno(), 10, monotonic() + 60) == b"x"
    thread.join()
    began = monotonic()
    with pytest.raises(TimeoutError):
        frames.receive(ours.fileno(), 10, monotonic() + 0.2)
    assert 0.2 <= monotonic() - began < 30


def test_a_message_may_be_as_large_as_its_length_can_say() -> None:
    assert pack("!I", frames.MOST_BYTES) == b"\xff" * 4


def test_who_reads_nothing_does_not_stop_the_writer(pair: Pair) -> None:
    ours, _ = pair
    with pytest.raises(TimeoutError):
        frames.send(ours.fileno(), bytes(10_000_000), monotonic() + 0.1)


def test_writing_to_who_has_closed_says_so(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    with pytest.raises(ConnectionError):
        frames.send(ours.fileno(), b"x")


def test_descriptors_that_come_along_are_dropped(pair: Pair) -> None:
    ours, theirs = pair
    reader, writer = os.pipe()
    socket.send_fds(theirs, [pack("!I", 1) + b"x"], [writer])
    os.close(writer)
    assert frames.receive(ours.fileno(), 1) == b"x"
    assert os.read(reader, 1) == b""  # Nobody has the other end any more.
    os.close(reader)
