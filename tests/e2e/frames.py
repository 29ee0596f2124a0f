"""Frames as docs/protocol.md has them, for peers that say what a test tells them to."""

import contextlib
import struct

MAGIC = 0x31464857


def frame(kind, tag=0, head=b"", bulk=b""):
    return struct.pack("<IHHIIQ", MAGIC, kind, 0, len(head), len(bulk), tag) + head + bulk


class RawPeer:
    """One end of a connection."""

    def __init__(self, connection):
        self.socket = connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def say(self, *frames):
        for one in frames:
            self.socket.sendall(one)
        return self

    def exactly(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def read(self):
        """(kind, tag, head, bulk); EOFError at the end."""
        magic, kind, _, head, bulk, tag = struct.unpack("<IHHIIQ", self.exactly(24))
        assert magic == MAGIC
        return kind, tag, self.exactly(head), self.exactly(bulk)

    def until_closed(self):
        """The kinds of what still comes, to the end."""
        kinds = []
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                kinds.append(self.read()[0])
        return kinds
