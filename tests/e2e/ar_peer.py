"""AR clients that say what a test tells them to (docs/protocol.md, "AR sessions")."""

import pathlib
import socket
import struct

from frames import RawPeer, frame
from wharf_fixture import PATIENCE

STREET = (pathlib.Path(__file__).parent / "testdata" / "street_448x128.jpg").read_bytes()
HELLO, WELCOME, GOODBYE, PICTURE, RESULT, FAILED, REPORT = range(192, 199)
DEPTH, BOXES, MODEL = 1, 4, 8  # bits of tasks


def hello(tasks, sla=0.0, size=(448, 128), models=b""):
    head = struct.pack("<IHHQ", 0x41524857, 6, 0, 0) + bytes(32)
    return frame(HELLO, head=head + struct.pack("<BBdii4dd", tasks, 0, 60.0, *size, 224, 208, 224, 64, sla) +
                 struct.pack("<I", len(models)) + models)


def picture(number, tasks, jpeg=STREET):
    return frame(PICTURE, number, struct.pack("<B", tasks), jpeg)


class RawClient(RawPeer):
    def __init__(self, server):
        host, port = server.address.rsplit(":", 1)
        super().__init__(socket.create_connection((host, int(port)), timeout=PATIENCE))
