#!/usr/bin/env python3
"""Operations of PyTorch on a GPU beside the same on the processor, as a program makes them that knows nothing of Wharf.

  python3 operations.py                                     on this machine's GPU
  wharf run --server edge:7070 -- python3 operations.py     on a server's

Prints a line for each: `ok`, with the greatest difference in parts of the greatest value, or why not. Those of a kind
ask for nothing but CUDA's libraries, for one of PyTorch's own kernels, or for all those of a network.
"""

import argparse
import json

import torch
import torchvision

TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 3e-2}  # else 1e-5


def compare(got, wanted, kind=torch.float32):
    error = float((got.cpu().double() - wanted.double()).abs().max() / wanted.abs().max().clamp_min(1e-9))
    if not error <= TOLERANCE.get(kind, 1e-5):
        raise ArithmeticError(f"off by {error:.1e}")
    return error


def copies():
    x = torch.randn(1000)
    there = torch.empty(1000, device="cuda").copy_(x.cuda())
    pinned = x.pin_memory().to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    return max(compare(there, x), compare(pinned, x))


def product(kind):
    a, b = torch.randn(64, 96).to(kind), torch.randn(96, 32).to(kind)
    return compare(a.cuda() @ b.cuda(), a.double() @ b.double(), kind)


def batched_product():
    a, b = torch.randn(4, 16, 24), torch.randn(4, 24, 8)
    return compare(torch.bmm(a.cuda(), b.cuda()), torch.bmm(a, b))


def module(network, *shape):
    network, x = network.eval(), torch.randn(shape)
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)
    wanted = network(x)
    return compare(network.cuda()(x.cuda()), wanted)


def convolution(bias, normalised):
    layers = [torch.nn.Conv2d(3, 8, 3, padding=1, bias=bias)] + ([torch.nn.BatchNorm2d(8)] if normalised else [])
    return module(torch.nn.Sequential(*layers), 2, 3, 16, 16)


def streams_and_events():
    stream = torch.cuda.Stream()
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    x = torch.randn(64, 64)
    with torch.cuda.stream(stream):
        before.record()
        y = x.cuda() @ x.cuda()
        after.record()
    torch.cuda.current_stream().wait_stream(stream)
    after.synchronize()
    if not (before.query() and after.query() and stream.query() and before.elapsed_time(after) >= 0):
        raise AssertionError("an event that is not done")
    return compare(y, x @ x)


def elementwise(operation, *arguments):
    x = torch.randn(100, 30)
    return compare(operation(x.cuda(), *arguments), operation(x, *arguments))


def network(name):
    torch.manual_seed(1)
    return module(getattr(torchvision.models, name)(weights=None), 1, 3, 64, 64)


OPERATIONS = {
    "libraries": {
        "copies": copies, "product, f32": lambda: product(torch.float32), "product, f64": lambda: product(torch.float64),
        "product, f16": lambda: product(torch.float16), "product, bf16": lambda: product(torch.bfloat16),
        "batched product": batched_product, "linear": lambda: module(torch.nn.Linear(32, 16), 8, 32),
        "convolution, batch norm": lambda: convolution(bias=False, normalised=True),
        "streams, events": streams_and_events},
    "kernels": {
        "convolution, bias": lambda: convolution(bias=True, normalised=False), "add": lambda: elementwise(torch.add, 1),
        "relu": lambda: elementwise(torch.relu), "softmax": lambda: elementwise(torch.softmax, 1)},
    "networks": {name: lambda name=name: network(name) for name in ("vgg11", "resnet18")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="what became of each: null, or why it failed")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "no GPU\n")
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}")
    results = {}
    with torch.inference_mode():
        for kind, operations in OPERATIONS.items():
            for name, operate in operations.items():
                try:
                    said, results[name] = f"ok, {operate():.0e}", None
                except (RuntimeError, ArithmeticError, AssertionError) as failure:
                    said = results[name] = str(failure).splitlines()[0]
                print(f"{kind}: {name}: {said}", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file)


if __name__ == "__main__":
    main()
