#!/usr/bin/env python3
"""inference.py offloaded by hand: the network is here, behind a TCP port, and client.py sends the pictures.

  python3 server.py resnet50 --listen 0.0.0.0:7080

What one writes who changes the application instead of running it through Wharf. A request is a picture's bytes; a
reply is u32 tensors, then of each u64 size and its bytes.
"""

import argparse
import math
import socket
import struct

import torch

import networks


def serve(connection, name, network, shape, device):
    """Answers until the client goes."""
    with connection, connection.makefile("rb") as incoming, torch.inference_mode():
        while len(pixels := incoming.read(math.prod(shape))) == math.prod(shape):
            picture = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(shape)
            results = networks.infer(name, network, picture.to(device), torch.float32)
            reply = struct.pack("<I", len(results))
            for tensor in results:
                values = tensor.cpu().numpy().tobytes()
                reply += struct.pack("<Q", len(values)) + values
            connection.sendall(reply)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT")
    parser.add_argument("--clients", type=int, metavar="N", help="end after N clients")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    options = parser.parse_args()

    network, shape = networks.build(options.model)
    network = network.to(options.device)
    host, _, port = options.listen.rpartition(":")
    with socket.create_server((host, int(port))) as listener:
        print(f"listening on {host}:{listener.getsockname()[1]}", flush=True)
        served = 0
        while options.clients is None or served < options.clients:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            serve(connection, options.model, network, shape, options.device)
            served += 1


if __name__ == "__main__":
    main()
