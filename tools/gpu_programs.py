"""Programs of PyTorch, CuPy and JAX that gpu_check.py runs natively and through a server."""

# Twenty steps of a network of pictures, on the GPU as on the processor.
TRAINING = """
def train(make, device):
    torch.manual_seed(2)
    net = make()
    net.to(device)
    step = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))
    for _ in range(20):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x.to(device)), y.to(device))
        loss.backward()
        step.step()
    return loss.item()
def compare(make):
    want, got = train(make, "cpu"), train(make, "cuda")
    assert abs(want - got) < 0.02 * want, (want, got)
    return got
"""

FRAMEWORKS = {
    "torch": """
import torch
torch.manual_seed(1)
torch.backends.cudnn.enabled = False
net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)).eval()
x = torch.randn(64, 256)
with torch.no_grad():
    want = net(x)
    got = net.cuda()(x.cuda()).cpu()
assert torch.allclose(want, got, atol=1e-4), (want - got).abs().max()
print(torch.__version__, torch.cuda.get_device_name())
""",
    "torchvision": """
import torch, torchvision
torch.manual_seed(1)
torch.backends.cudnn.allow_tf32 = False
net = torchvision.models.resnet18(weights=None).eval()
x = torch.randn(1, 3, 224, 224)
with torch.no_grad():
    want = net(x)
    got = net.cuda()(x.cuda()).cpu()
assert torch.allclose(want, got, atol=1e-3), (want - got).abs().max()
print("ResNet-18", torchvision.__version__)
""",
    "torch training": """
import torch
torch.manual_seed(1)
torch.backends.cudnn.enabled = False
""" + TRAINING + """
loss = compare(lambda: torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10)))
print("loss", round(loss, 4))
""",
    "torch training cudnn": """
import torch
torch.manual_seed(1)
torch.backends.cudnn.allow_tf32 = False
""" + TRAINING + """
compare(lambda: torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, stride=2, padding=1), torch.nn.ReLU(),
    torch.nn.Flatten(), torch.nn.Linear(8 * 7 * 7, 10)))
# Attention and its gradients, which are cuDNN's on Hopper.
q, k, v = (torch.randn(2, 4, 128, 64) for _ in range(3))
def attend(device, type):
    inputs = [t.detach().to(device, type).requires_grad_() for t in (q, k, v)]
    out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
    out.float().square().sum().backward()
    return [out.detach()] + [t.grad for t in inputs]
for want, got in zip(attend("cpu", torch.float), attend("cuda", torch.bfloat16)):
    assert torch.allclose(want, got.float().cpu(), atol=0.1, rtol=0.05), (want - got.float().cpu()).abs().max()
# A residual block, whose batch normalization is of cuDNN's older functions.
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (torch.nn.Conv2d(8, 8, 3, padding=1, bias=False) for _ in range(2))
        self.norm, self.other = torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8)
    def forward(self, x):
        return torch.relu(self.other(self.second(torch.relu(self.norm(self.first(x))))) + x)
def train_block(device, layout):
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), torch.nn.BatchNorm2d(8), Block(),
                              Block(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10))
    net.to(device, memory_format=layout)
    step = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    x, y = torch.randn(32, 3, 16, 16).to(memory_format=layout), torch.randint(0, 10, (32,))
    for _ in range(10):
        step.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x.to(device)), y.to(device))
        loss.backward()
        step.step()
    return loss.item(), net[1].running_mean.cpu(), net.eval()(x.to(device)).detach().cpu()
for layout in (torch.contiguous_format, torch.channels_last):
    want, got = train_block("cpu", layout), train_block("cuda", layout)
    assert abs(want[0] - got[0]) < 0.02 * want[0], (layout, want[0], got[0])
    assert torch.allclose(want[1], got[1], atol=1e-2), (layout, want[1], got[1])
    assert torch.allclose(want[2], got[2], atol=0.1), (layout, (want[2] - got[2]).abs().max())
print("convolutions, causal attention, batch normalization")
""",
    "torch attention": """
import torch
torch.manual_seed(1)
block = torch.nn.TransformerEncoderLayer(256, 4, 512, batch_first=True, dropout=0).eval()
x = torch.randn(2, 64, 256)
q = torch.randn(2, 4, 64, 64)
with torch.no_grad():
    want = block(x)
    got = block.cuda()(x.cuda()).cpu()
    flash = torch.nn.functional.scaled_dot_product_attention(*[q.cuda().bfloat16()] * 3).float().cpu()
    half = block.half()(x.cuda().half()).float().cpu()
reference = torch.nn.functional.scaled_dot_product_attention(q, q, q)
assert torch.allclose(want, got, atol=1e-2), (want - got).abs().max()
assert torch.allclose(want, half, atol=5e-2), (want - half).abs().max()
assert torch.allclose(reference, flash, atol=5e-2), (reference - flash).abs().max()
print("attention, in float, half and bfloat16")
""",
    "triton": """
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
x, y = torch.randn(10000), torch.randn(10000)
gx, gy, out = x.cuda(), y.cuda(), torch.empty(10000, device="cuda")
add[(10,)](gx, gy, out, 10000, BLOCK=1024)
assert torch.equal(out.cpu(), x + y)
print(triton.__version__)
""",
    "torch.compile": """
import torch
torch.manual_seed(1)
f = torch.compile(lambda x: torch.nn.functional.gelu(x * 2 + 1).sum(dim=1))
x = torch.randn(64, 512)
got = f(x.cuda()).cpu()
want = torch.nn.functional.gelu(x * 2 + 1).sum(dim=1)
assert torch.allclose(want, got, rtol=1e-4, atol=1e-3), (want - got).abs().max()
print("inductor")
""",
    "numba": """
import numpy, numba
from numba import cuda
@cuda.jit
def scale(x, a):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= a
x = numpy.arange(1000, dtype=numpy.float32)
d = cuda.to_device(x)
scale[8, 128](d, 3)
assert numpy.array_equal(d.copy_to_host(), 3 * x)
print(numba.__version__)
""",
    "cupy": """
import cupy
x = cupy.arange(1 << 20, dtype=cupy.float32)
assert abs(float((x * 2).sum()) - (1 << 20) * ((1 << 20) - 1)) < 1e7
print(cupy.__version__)
""",
    "jax": """
import faulthandler
faulthandler.dump_traceback_later(45)
import jax, jax.numpy as jnp
x = jnp.ones((256, 256))
assert float((x @ x).sum()) == 256.0 ** 3
print(jax.__version__, jax.devices())
""",
}

# ResNet-18 by PyTorch, pictures in and answers out: a program for `wharf bench offload`. Its last line is JSON, too.
RESNET = """#!/usr/bin/env python3
import argparse, json, statistics, time
import torch, torchvision
parser = argparse.ArgumentParser()
parser.add_argument("--inferences", type=int, default=120)
parser.add_argument("--json")
options, _ = parser.parse_known_args()
torch.manual_seed(1)
net = torchvision.models.resnet18(weights=None).eval().cuda()
pictures = [torch.randn(1, 3, 224, 224) for _ in range(8)]
taken = []
with torch.no_grad():
    for index in range(options.inferences):
        start = time.perf_counter()
        net(pictures[index % 8].cuda()).cpu()
        taken.append(1000 * (time.perf_counter() - start))
if options.json:
    json.dump({"latency_ms": taken}, open(options.json, "w"))
else:
    late = taken[len(taken) // 2:]
    x, one = pictures[0].cuda(), torch.ones(32, device="cuda")
    def stage(work):
        took = []
        for _ in range(30):
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            took.append(1000 * (time.perf_counter() - start))
        return statistics.median(took[10:])
    with torch.no_grad():
        stages = {"synchronize": stage(lambda: None), "64 small kernels": stage(lambda: [one.add_(1) for _ in range(64)]),
                  "network": stage(lambda: net(x)), "picture up": stage(lambda: pictures[1].cuda()),
                  "answer down": stage(lambda: one.cpu())}
    print(json.dumps({"median_ms": statistics.median(late), "least_ms": min(late), "first_ms": taken[0], "stages": stages}))
"""
