#!/usr/bin/env python3
"""Inferences of a network by PyTorch, as a program makes them that knows nothing of Wharf.

  python3 inference.py resnet50                                    on this machine's GPU
  python3 inference.py resnet50 --device cpu                       on its processor
  wharf run --server edge:7070 -- python3 inference.py resnet50    on a server's GPU

MODEL is a model of torchvision, or `encoder`, a transformer's, or `lstm`. Every inference is about another picture.
"""

import argparse
import time

import numpy
import torch

import measuring
import networks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--half", action="store_true", help="in half precision")
    measuring.add_options(parser)
    parser.add_argument("--output", metavar="FILE", help="the results of the last inference (numpy's npz)")
    options = parser.parse_args()

    network, shape = networks.build(options.model)
    kind = torch.float16 if options.half else torch.float32
    network = network.to(options.device, kind)
    latencies, results = [], []
    with torch.inference_mode():
        for i in range(options.inferences):
            measuring.wait_to_be_measured(options, i)
            picture = networks.picture(shape, i)
            started = time.perf_counter()
            there = networks.infer(options.model, network, picture.to(options.device), kind)
            results = [tensor.cpu() for tensor in there]
            latencies.append(1000 * (time.perf_counter() - started))
    if options.output:
        numpy.savez(options.output, *[tensor.float().numpy() for tensor in results])
    measuring.write_times(options, latencies)
    if latencies:
        print(f"{options.model} on {options.device}: {min(latencies):.1f} ms at best, {len(results)} tensors")


if __name__ == "__main__":
    main()
