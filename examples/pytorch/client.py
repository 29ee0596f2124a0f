#!/usr/bin/env python3
"""The device's half of inference.py offloaded by hand: sends server.py the pictures, and waits for the results.

  python3 client.py resnet50 --server edge:7080
"""

import argparse
import socket
import struct
import time

import measuring
import networks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--server", required=True, metavar="HOST:PORT")
    measuring.add_options(parser)
    options = parser.parse_args()

    _, shape = networks.build(options.model)
    host, _, port = options.server.rpartition(":")
    latencies = []
    with socket.create_connection((host, int(port))) as server, server.makefile("rb") as incoming:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(options.inferences):
            measuring.wait_to_be_measured(options, i)
            pixels = networks.picture(shape, i).numpy().tobytes()
            started = time.perf_counter()
            server.sendall(pixels)
            for _ in range(struct.unpack("<I", incoming.read(4))[0]):
                incoming.read(struct.unpack("<Q", incoming.read(8))[0])
            latencies.append(1000 * (time.perf_counter() - started))
    measuring.write_times(options, latencies)


if __name__ == "__main__":
    main()
