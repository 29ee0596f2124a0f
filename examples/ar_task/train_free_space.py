#!/usr/bin/python3
r"""Trains free_space.onnx: how far the ground reaches up in each of 56 strips of a picture, before anything stands on it.

    pip install torch numpy pillow onnx
    for c in L/L L/H H/L H/H; do for i in 0 1 2; do
      wharf ar render --category $c --video $i --split training --frames 0:2399:60 --out street-${c/\//}-$i
    done; done
    ./train_free_space.py street-* --out free_space.onnx        some minutes of one core

Folders are as `wharf ar render` writes them, with depth and pose, which say where the ground is. Folders after --check
are not trained on; for these it is said how good the network is. The network takes the camera's bytes, uint8 [1, 3,
128, 448], and contains the normalisation; it makes float32 [1, 56], shares of the picture's height.
"""
import argparse
import csv
import pathlib

import numpy
import torch
from PIL import Image
from torch import nn

WIDTH, HEIGHT, STRIPS, ROWS = 448, 128, 56, 32
FX, FY, CX, CY = 224, 208, 223.5, 63.5  # of the town's camera at that size
FLAT = 0.25  # metres: kerbs and pavements can be walked on


def rotation(w, x, y, z):
    return numpy.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def free_space(depth, pose):
    """Of each strip, the share of rows from the bottom up that show the ground without a gap (median of its columns)."""
    rows, columns = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    ray = numpy.stack([(columns - CX) / FX, (rows - CY) / FY, numpy.ones_like(depth)], -1)
    height = pose["pz"] + depth * (ray @ rotation(*(pose[q] for q in ("qw", "qx", "qy", "qz")))[2])
    ground = (depth > 0) & (numpy.abs(height) < FLAT)
    runs = numpy.cumprod(ground[::-1], axis=0).sum(axis=0) / HEIGHT
    return numpy.median(runs.reshape(STRIPS, WIDTH // STRIPS), axis=1)


def read(folders):
    pictures, truths = [], []
    for folder in map(pathlib.Path, folders):
        with open(folder / "truth.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                name = folder / f"{int(row['frame']):06}"
                depth = numpy.asarray(Image.open(f"{name}.depth.png"), numpy.float64) / 256
                truths.append(free_space(depth, {key: float(value) for key, value in row.items()}))
                pictures.append(numpy.asarray(Image.open(f"{name}.png").convert("RGB")).transpose(2, 0, 1))
    return torch.from_numpy(numpy.stack(pictures)), torch.from_numpy(numpy.stack(truths)).float()


class FreeSpace(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.usual = nn.Parameter(torch.zeros(1, 8, ROWS, 1))  # of each row, whatever the picture
        self.body = nn.Sequential(nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(16, 16, 3, padding=2, dilation=2), nn.ReLU(),
                                  nn.Conv2d(16, 16, 3, padding=4, dilation=4), nn.ReLU(), nn.Conv2d(16, 1, 1))
        # Sums from the bottom row up to each.
        self.register_buffer("below", torch.ones(ROWS, ROWS).tril())

    def forward(self, picture):
        x = nn.functional.avg_pool2d(picture.float() * (1 / 64) - 2, (HEIGHT // ROWS, WIDTH // STRIPS))
        ground = torch.sigmoid(self.body(self.first(x) + self.usual)).squeeze(1)  # [batch, rows, strips]
        # The chance that a row and all below it are ground; their sum is how far the ground is expected to reach.
        return torch.exp(torch.matmul(torch.log(ground + 1e-6).transpose(1, 2), self.below)).mean(dim=2)


def overlap(found, truth):
    """Intersection over union of the free areas, mean over pictures."""
    return (torch.minimum(found, truth).sum(1) / torch.maximum(found, truth).sum(1)).mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--check", nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out", default="free_space.onnx")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    pictures, truths = read(options.folders)
    network = FreeSpace()
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-2, options.steps)
    for step in range(options.steps):
        some = torch.randint(len(pictures), (8,))
        picture, truth = pictures[some], truths[some]
        if step % 2:
            picture, truth = picture.flip(3), truth.flip(1)
        loss = (network(picture) - truth).abs().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 50 == 49:
            print(f"step {step + 1}: off by {loss.item():.4f} of the height", flush=True)
    network.eval()
    with torch.no_grad():
        if options.check:
            pictures, truths = read(options.check)
            found = network(pictures)
            print(f"not trained on: IoU {overlap(found, truths):.3f}, off by {(found - truths).abs().mean():.4f}; "
                  f"the mean of all is off by {(truths - truths.mean(0)).abs().mean():.4f}")
        torch.onnx.export(network, torch.zeros(1, 3, HEIGHT, WIDTH, dtype=torch.uint8), options.out, opset_version=13,
                          input_names=["picture"], output_names=["free"], dynamo=False)


if __name__ == "__main__":
    main()
