#!/usr/bin/python3
"""Trains the networks of edge-assisted AR on the synthetic world and exports them to ONNX: depth, lite depth, detector.

    apt-get install python3-torch python3-numpy python3-pil
    tools/train_ar_networks.py                                   all three, into data/ar: an hour of one core
    tools/train_ar_networks.py lite --minutes lite=8             one of them, in the time it is given
    tools/train_ar_networks.py lite --steps lite=5000            the same weights again, on the same machine
    tools/train_ar_networks.py --continue --minutes depth=10     further from where the last run ended
    tools/train_ar_networks.py --videos 1 --frames 4 --steps depth=2 lite=2 detector=2 --out /tmp/ar   does it work?

Pictures and truth come from `wharf ar render`, the training split, and stay in --cache, as do the weights. At the end
`wharf ar evaluate` says how good the networks are on videos of the calibration split, which nothing is trained on;
networks.json says so too. Every network takes uint8 [batch, 3, 128, 448], RGB, and contains the normalisation.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import time
import warnings

# Before OpenBLAS is loaded: its threads wait for each other in a loop, which on a busy machine is all they get to do.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

WIDTH, HEIGHT = 448, 128
SEED = 1
STRIDE = 4  # of the detector's cells, in pixels
CATEGORIES = ["L/L", "L/H", "H/L", "H/H"]
VIDEO_FRAMES = 2400
DEPTH_UNITS, DEPTH_MOST = 256, 65535  # of the pictures of depth: a metre, and what is that far or farther
ALIGNED = 8  # columns: parts of pictures begin where all strides of heads do
LEAST_HEIGHT = 6  # of boxes the detector is to find, in pixels


def conv(inputs, outputs, kernel=3, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU())


def separable(inputs, outputs, kernel=3, stride=1):
    """A depthwise and a pointwise convolution."""
    return nn.Sequential(conv(inputs, inputs, kernel, stride, inputs), conv(inputs, outputs, 1))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = conv(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return functional.relu(x + self.second(self.first(x)))


class Rows(nn.Module):
    """What is usual at each height of the picture: the ground is near at its bottom."""

    def __init__(self, channels, stride):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1, channels, HEIGHT // stride, 1))

    def forward(self, x):
        return x + self.bias


class Merge(nn.Module):
    """A coarser level, enlarged, and the finer one of the same size."""

    def __init__(self, coarse, fine, outputs, block=conv):
        super().__init__()
        self.coarse = nn.Conv2d(coarse, outputs, 1, bias=False)
        self.fine = nn.Conv2d(fine, outputs, 1)
        self.block = block(outputs, outputs)

    def forward(self, coarse, fine):
        enlarged = functional.interpolate(self.coarse(coarse), scale_factor=2.0, mode="nearest")
        return self.block(functional.relu(enlarged + self.fine(fine)))


class Pixels(nn.Module):
    """Bytes to numbers around 0."""

    def forward(self, image):
        return image.float() * (1 / 64) - 2


class DepthHead(nn.Module):
    """Log depth, as it differs from what is usual at each place of the picture; enlarged to its size, as metres."""

    def __init__(self, inputs, stride):
        super().__init__()
        self.differs, self.stride = nn.Conv2d(inputs, 1, 3, padding=1), stride
        nn.init.normal_(self.differs.weight, std=1e-3)
        nn.init.zeros_(self.differs.bias)
        self.usual = nn.Parameter(torch.zeros(1, 1, HEIGHT // stride, WIDTH // stride))

    def learn_usual(self, depth):
        """The mean log depth of frames [n, height, width] and their mirrored images, before any training."""
        depth = numpy.concatenate([depth, depth[:, :, ::-1]]).astype(numpy.float32)
        log_depth = numpy.where(depth > 0, numpy.log(numpy.maximum(depth, 0.1)), 0).sum(0)
        cells = (HEIGHT // self.stride, self.stride, WIDTH // self.stride, self.stride)
        known = (depth > 0).sum(0).reshape(cells).sum((1, 3))
        mean = numpy.where(known > 0, log_depth.reshape(cells).sum((1, 3)) / numpy.maximum(known, 1), math.log(100))
        self.usual.data[0, 0] = torch.from_numpy(mean.astype(numpy.float32))

    def forward(self, x, left):
        """`left`: the first column of the picture that x sees; None: x sees all of it."""
        usual = self.usual
        if left is not None:
            usual = usual[..., left // self.stride:left // self.stride + x.shape[3]]
        log_depth = self.differs(x) + usual
        log_depth = functional.interpolate(log_depth, scale_factor=float(self.stride), mode="bilinear")
        return log_depth.clamp(-3, 6).exp()


class Depth(nn.Module):
    """Server grade: a U-net of residual blocks, 1/2 to 1/32 of the size."""

    def __init__(self):
        super().__init__()
        self.pixels = Pixels()
        self.stem, self.at2 = conv(3, 16, stride=2), conv(16, 16)
        self.at4 = nn.Sequential(conv(16, 48, stride=2), Residual(48))
        self.at8 = nn.Sequential(conv(48, 96, stride=2), Rows(96, 8), Residual(96))
        self.at16 = nn.Sequential(conv(96, 128, stride=2), Residual(128))
        self.at32 = nn.Sequential(conv(128, 128, stride=2), conv(128, 128))
        self.up16, self.up8 = Merge(128, 128, 96), Merge(96, 96, 64)
        self.up4, self.up2 = Merge(64, 48, 48), Merge(48, 16, 16)
        self.head = DepthHead(16, 2)

    def forward(self, image, left=None):
        at2 = self.at2(self.stem(self.pixels(image)))
        at4 = self.at4(at2)
        at8 = self.at8(at4)
        at16 = self.at16(at8)
        x = self.up16(self.at32(at16), at16)
        return self.head(self.up2(self.up4(self.up8(x, at8), at4), at2), left)


class LiteDepth(nn.Module):
    """For a weak device: early strides, separable convolutions, an eighth of the size out."""

    def __init__(self):
        super().__init__()
        self.pixels = Pixels()
        self.stem = conv(3, 16, 5, 4)
        self.at8 = nn.Sequential(separable(16, 32, 3, 2), Rows(32, 8), separable(32, 32))
        self.at16 = nn.Sequential(separable(32, 64, 3, 2), separable(64, 64, 5))
        self.at32 = nn.Sequential(separable(64, 96, 3, 2), separable(96, 96, 5))
        self.up16, self.up8 = Merge(96, 64, 48, separable), Merge(48, 32, 32, separable)
        self.head = DepthHead(32, 8)

    def forward(self, image, left=None):
        at8 = self.at8(self.stem(self.pixels(image)))
        at16 = self.at16(at8)
        return self.head(self.up8(self.up16(self.at32(at16), at16), at8), left)


class Detector(nn.Module):
    """Objects as points (centres), after Zhou et al., "Objects as Points", 2019: for every cell of 4 by 4 pixels and
    class the score of a centre being there, and the box whose centre that is: left, top, right, bottom in pixels."""

    def __init__(self):
        super().__init__()
        self.pixels = Pixels()
        self.stem = conv(3, 16, stride=2)
        self.at4 = nn.Sequential(conv(16, 32, stride=2), Residual(32))
        self.at8 = nn.Sequential(conv(32, 64, stride=2), Rows(64, 8), Residual(64))
        self.at16 = nn.Sequential(conv(64, 96, stride=2), conv(96, 96))
        self.at32 = nn.Sequential(conv(96, 96, stride=2), conv(96, 96))
        self.up16, self.up8, self.up4 = Merge(96, 96, 64), Merge(64, 64, 48), Merge(48, 32, 32)
        self.tower = conv(32, 48)
        self.score, self.shift, self.log_size = nn.Conv2d(48, 2, 1), nn.Conv2d(48, 2, 1), nn.Conv2d(48, 2, 1)
        nn.init.constant_(self.score.bias, -4)
        nn.init.constant_(self.log_size.bias, math.log(12))
        x = torch.arange(WIDTH // STRIDE).float() * STRIDE + STRIDE / 2
        y = torch.arange(HEIGHT // STRIDE).float() * STRIDE + STRIDE / 2
        centres = torch.stack([x.expand(len(y), -1), y[:, None].expand(-1, len(x))])
        self.register_buffer("centres", centres[None], persistent=False)

    def forward(self, image, _=None):
        at4 = self.at4(self.stem(self.pixels(image)))
        at8 = self.at8(at4)
        at16 = self.at16(at8)
        x = self.up16(self.at32(at16), at16)
        x = self.tower(self.up4(self.up8(x, at8), at4))
        centre = self.shift(x) * STRIDE + self.centres
        half = self.log_size(x).clamp(0, 6.2).exp() * 0.5
        return self.score(x).sigmoid(), torch.cat([centre - half, centre + half], 1)


def render(wharf, cache, category, video, frames):
    """The folder of a training video's frames, evenly apart; other videos' are at other times."""
    step = VIDEO_FRAMES // frames
    first = 37 * video % step
    folder = cache / f"{category.replace('/', '-')}-{video}-{frames}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        subprocess.run([wharf, "ar", "render", "--category", category, "--video", str(video), "--split", "training",
                        "--frames", f"{first}:{first + step * (frames - 1)}:{step}", "--out", str(part),
                        "--size", f"{WIDTH}x{HEIGHT}"], check=True)
        part.rename(folder)
    return folder


def read(folder):
    """A recording as arrays: images [n, height, width, 3]; depth [n, height, width] in metres, 0 where unknown; boxes
    [m, 6]: frame, class, left, top, right, bottom. Kept beside it, since pictures take long to read."""
    kept = folder / "arrays.npz"
    if not kept.exists():
        numbers = sorted(int(path.name.split(".")[0]) for path in folder.glob("*.depth.png"))
        units = numpy.stack([numpy.array(Image.open(folder / f"{number:06}.depth.png")) for number in numbers])
        images = numpy.stack([numpy.array(Image.open(folder / f"{number:06}.png")) for number in numbers])
        with open(folder / "boxes.csv", newline="") as table:
            boxes = [[numbers.index(int(row["frame"])), ["vehicle", "person"].index(row["class"])] +
                     [float(row[side]) for side in ("left", "top", "right", "bottom")] for row in csv.DictReader(table)]
        depth = numpy.where(units < DEPTH_MOST, units.astype(numpy.float32) / DEPTH_UNITS, 0).astype(numpy.float16)
        numpy.savez(kept, images=images, depth=depth, boxes=numpy.array(boxes, numpy.float32).reshape(-1, 6))
    return dict(numpy.load(kept))


class Frames:
    """Those of all recordings: images, depth, and of each frame its boxes: (class, left, top, right, bottom)."""

    def __init__(self, folders):
        recordings = [read(folder) for folder in folders]
        self.images = numpy.concatenate([each["images"] for each in recordings])
        self.depth = numpy.concatenate([each["depth"] for each in recordings])
        self.boxes = []
        for each in recordings:
            first = len(self.boxes)
            self.boxes += [[] for _ in each["images"]]
            for frame, *box in each["boxes"]:
                if box[4] - box[2] >= LEAST_HEIGHT:
                    self.boxes[first + int(frame)].append(box)


def depth_loss(metres, batch):
    """Of log depth, so that near and far count alike, and of AbsRel, which is what depth is judged by."""
    known = batch.depth > 0
    truth = batch.depth[known]
    estimate = metres[:, 0][known]
    log_error = (estimate.log() - truth.log()).abs().mean()
    return log_error + 0.5 * ((estimate - truth).abs() / truth).clamp(max=2).mean()


def centre_targets(boxes, count):
    """For every image, class and cell how much it is a centre: 1 in the cell of one, less around it. And the cells that
    know an object's box well enough, as (image, row, column, weight), with those boxes."""
    rows, columns = HEIGHT // STRIDE, WIDTH // STRIDE
    target = numpy.zeros((count, 2, rows, columns), numpy.float32)
    cells, sides = [], []
    for image, kind, left, top, right, bottom in boxes:
        x, y = ((left + right) / 2 / STRIDE, (top + bottom) / 2 / STRIDE)
        column, row = min(int(x), columns - 1), min(int(y), rows - 1)
        wide, high = (max((end - begin) / STRIDE / 6, 0.5) for begin, end in ((left, right), (top, bottom)))
        nearness = numpy.outer(numpy.exp(-((numpy.arange(rows) - row) / high) ** 2 / 2),
                               numpy.exp(-((numpy.arange(columns) - column) / wide) ** 2 / 2))
        place = target[int(image), int(kind)]
        numpy.maximum(place, nearness, out=place)
        for r, c in zip(*numpy.nonzero(nearness >= 0.5)):
            cells.append((int(image), r, c, nearness[r, c]))
            sides.append((left, top, right, bottom))
    return torch.from_numpy(target), cells, torch.tensor(numpy.array(sides, numpy.float32).reshape(-1, 4))


def overlap(a, b):
    """Generalized IoU (Rezatofighi et al., 2019), -1 to 1; of boxes [n, 4]."""
    inner = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    outer = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).prod(1)
    union = (a[:, 2:] - a[:, :2]).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - inner
    return inner / union - (outer - union) / outer


def detector_loss(outputs, batch):
    """Focal loss of centres, as in "Objects as Points", and overlap of the boxes there."""
    scores, boxes = outputs[0].clamp(1e-4, 1 - 1e-4), outputs[1]
    target, cells, sides = centre_targets(batch.boxes, len(scores))
    is_centre = target == 1
    at_centre = (1 - scores) ** 2 * scores.log() * is_centre
    elsewhere = (1 - target) ** 4 * scores ** 2 * (1 - scores).log() * ~is_centre
    loss = -(at_centre + elsewhere).sum() / max(len(batch.boxes), 1)
    if cells:
        image, row, column, weight = (numpy.array(part) for part in zip(*cells))
        weight = torch.from_numpy(weight.astype(numpy.float32))
        found = boxes[image, :, row, column]
        loss = loss + 2 * ((1 - overlap(found, sides)) * weight).sum() / weight.sum()
    return loss


class Batch:
    """Frames with truth, changed by chance as another day or the mirrored world would change them, or `columns` of them
    where that is less than all."""

    def __init__(self, frames, chosen, columns, random):
        left = ALIGNED * int(random.integers(0, (WIDTH - columns) // ALIGNED + 1))
        images = torch.from_numpy(frames.images[chosen, :, left:left + columns]).permute(0, 3, 1, 2).float()
        self.depth = torch.from_numpy(frames.depth[chosen, :, left:left + columns].astype(numpy.float32))
        self.boxes = [(i, *box) for i, frame in enumerate(chosen) for box in frames.boxes[frame]]
        if random.random() < 0.5:
            images, self.depth, left = images.flip(3), self.depth.flip(2), WIDTH - columns - left
            self.boxes = [(i, kind, WIDTH - right, top, WIDTH - left, bottom)
                          for i, kind, left, top, right, bottom in self.boxes]
        light = random.uniform(0.7, 1.3, (len(chosen), 1, 1, 1)) * random.uniform(0.92, 1.08, (len(chosen), 3, 1, 1))
        dark = random.uniform(-16, 16, (len(chosen), 1, 1, 1))
        images = (images * torch.from_numpy(light).float() + torch.from_numpy(dark).float()).clamp(0, 255)
        self.images, self.left = images.contiguous(memory_format=torch.channels_last), left


class Task:
    """`columns`: of the pictures it is trained on, by chance. Half a picture at a time, from twice as many, teaches
    more in the same time; boxes need the whole."""

    def __init__(self, network, loss, outputs, batch, columns, rate, minutes):
        self.network, self.loss, self.outputs = network, loss, outputs
        self.batch, self.columns, self.rate, self.minutes = batch, columns, rate, minutes


TASKS = {
    "depth": Task(Depth, depth_loss, ["depth"], 6, WIDTH // 2, 2e-3, 25),
    "lite": Task(LiteDepth, depth_loss, ["depth"], 12, WIDTH // 2, 4e-3, 8),
    "detector": Task(Detector, detector_loss, ["scores", "boxes"], 6, WIDTH, 2e-3, 12),
}


def rate_at(done, task):
    """Up quickly, then down along a cosine."""
    return task.rate * min(done / 0.03, 0.5 + 0.5 * math.cos(math.pi * done)) + 1e-6


def train(name, network, frames, minutes, steps):
    """How many steps were done: `steps`, or if that is 0 as many as fit into the minutes."""
    task, random = TASKS[name], numpy.random.default_rng(SEED)
    network.to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=task.rate, weight_decay=1e-4)
    begin, step, recent, said = time.monotonic(), 0, 0.0, 0.0
    while True:
        done = step / steps if steps else (time.monotonic() - begin) / 60 / minutes
        if done >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(done, task)
        batch = Batch(frames, random.integers(0, len(frames.images), task.batch), task.columns, random)
        loss = task.loss(network(batch.images, batch.left), batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5)
        optimizer.step()
        step += 1
        recent += (loss.item() - recent) / min(step, 50)
        if done >= said:
            print(f"{name}: {done:4.0%}, step {step}, loss {recent:.3f}", flush=True)
            said = done + 0.05
    network.eval()
    return step


def export(name, network, path):
    task, image = TASKS[name], torch.zeros(1, 3, HEIGHT, WIDTH, dtype=torch.uint8)
    names = ["image"] + task.outputs
    warnings.filterwarnings("ignore", message="The shape inference of prim::Constant")
    torch.onnx.export(network, image, str(path), opset_version=17, input_names=names[:1], output_names=names[1:],
                      dynamic_axes={each: {0: "batch"} for each in names})


def size_of(network):
    """Parameters, and GFLOP of an image: two for each product of a convolution."""
    products = []
    hooks = [module.register_forward_hook(lambda self, _, out: products.append(out[0].numel() * self.weight[0].numel()))
             for module in network.modules() if isinstance(module, nn.Conv2d)]
    with torch.no_grad():
        network(torch.zeros(1, 3, HEIGHT, WIDTH, dtype=torch.uint8))
    for hook in hooks:
        hook.remove()
    return {"parameters": sum(each.numel() for each in network.parameters()),
            "gflop": round(2 * sum(products) / 1e9, 4)}


def accuracies(wharf, out, cache):
    """As `wharf ar evaluate` prints and writes them."""
    rows = cache / "accuracy.json"
    subprocess.run([wharf, "ar", "evaluate", "--networks", str(out), "--split", "calibration", "--json", str(rows)],
                   check=True)
    return json.loads(rows.read_text())


def by_name(words, kind):
    """NAME=VALUE words."""
    pairs = dict(word.split("=", 1) for word in words)
    unknown = set(pairs) - set(TASKS)
    if unknown:
        raise SystemExit(f"train_ar_networks: no network {', '.join(unknown)}; there are {', '.join(TASKS)}")
    return {name: kind(value) for name, value in pairs.items()}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="depth, lite, detector; none: all")
    parser.add_argument("--wharf", default="build/default/bin/wharf")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("data/ar"))
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path("out/ar-training"))
    parser.add_argument("--videos", type=int, default=20, help="of each category")
    parser.add_argument("--frames", type=int, default=24, help="of each video")
    parser.add_argument("--minutes", nargs="+", default=[], metavar="NAME=MINUTES")
    parser.add_argument("--steps", nargs="+", default=[], metavar="NAME=STEPS", help="instead of minutes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--continue", action="store_true", dest="further", help="from the weights in --cache")
    arguments = parser.parse_args()
    if set(arguments.names) - set(TASKS):
        parser.error(f"networks are {', '.join(TASKS)}")
    return arguments


def main():
    arguments = parse()
    minutes, steps = by_name(arguments.minutes, float), by_name(arguments.steps, int)
    torch.set_num_threads(arguments.threads)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    folders = [render(arguments.wharf, arguments.cache, category, video, arguments.frames)
               for category in CATEGORIES for video in range(arguments.videos)]
    frames = Frames(folders)
    print(f"{len(frames.images)} frames of {len(folders)} videos", flush=True)
    record_path = arguments.out / "networks.json"
    record = json.loads(record_path.read_text()) if record_path.exists() else {"networks": {}}
    for name in arguments.names or TASKS:
        torch.manual_seed(SEED)
        network, weights, before = TASKS[name].network(), arguments.cache / f"{name}.pt", 0
        if hasattr(network, "head"):
            network.head.learn_usual(frames.depth[::8])
        if arguments.further:
            network.load_state_dict(torch.load(weights))
            before = record["networks"][name]["steps"]
        done = train(name, network, frames, minutes.get(name, TASKS[name].minutes), steps.get(name, 0))
        torch.save(network.state_dict(), weights)
        export(name, network, arguments.out / f"{name}.onnx")
        record["networks"][name] = {**size_of(network), "steps": before + done, "images_a_step": TASKS[name].batch,
                                    "columns_of_an_image": TASKS[name].columns, "seed": SEED,
                                    "training_videos": len(folders), "training_frames": len(frames.images)}
        record_path.write_text(json.dumps(record, indent=1) + "\n")
    record["accuracy"] = accuracies(arguments.wharf, arguments.out, arguments.cache)
    record_path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
