"""Pictures of the synthetic town and the boxes that are in them (`wharf ar render`), without a library of pictures."""

import csv
import struct
import subprocess
import zlib

import numpy as np

from wharf_fixture import BIN, PATIENCE, environment

CHANNELS = {0: 1, 2: 3, 6: 4}  # by PNG's types of colour
CLASSES = {"vehicle": 0, "person": 1}


def read_png(path):
    """8 bits a channel, not interlaced: uint8 [height, width, channels]."""
    data, place, packed = path.read_bytes(), 8, b""
    while place < len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        body = data[place + 8:place + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and not interlaced, path
        elif kind == b"IDAT":
            packed += body
        place += size + 12
    channels = CHANNELS[colours]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    picture = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.int64)
    for y, row in enumerate(rows):
        above = picture[y] = unfiltered(row[0], row[1:].reshape(width, channels).astype(np.int64), above)
    return picture


def unfiltered(kind, row, above):
    """A row of PNG, by what was subtracted from its bytes."""
    above = above.astype(np.int64)
    if kind == 0:
        return row.astype(np.uint8)
    if kind == 1:
        return np.cumsum(row, axis=0).astype(np.uint8)
    if kind == 2:
        return (row + above).astype(np.uint8)
    left = corner = np.zeros(row.shape[1], np.int64)
    for x, up in enumerate(above):
        if kind == 3:
            guess = (left + up) // 2
        else:  # Paeth: the nearest to left + up - corner
            far = np.abs(up - corner), np.abs(left - corner), np.abs(left + up - 2 * corner)
            guess = np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], up, corner))
        left = row[x] = (row[x] + guess) % 256
        corner = up
    return row.astype(np.uint8)


def render(folder, frames, size="448x128", category="H/H", video=0):
    """Of the videos for calibration: pictures, and the boxes of each, (left, top, right, bottom, class's number)."""
    subprocess.run([BIN / "wharf", "ar", "render", "--category", category, "--video", str(video), "--split",
                    "calibration", "--frames", frames, "--size", size, "--out", folder],
                   check=True, capture_output=True, timeout=PATIENCE, env=environment(folder))
    boxes = {}
    with open(folder / "boxes.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            box = (*(float(row[side]) for side in ("left", "top", "right", "bottom")), CLASSES[row["class"]])
            boxes.setdefault(int(row["frame"]), []).append(box)
    files = sorted(path for path in folder.glob("*.png") if "depth" not in path.name)
    return [(read_png(path)[..., :3], boxes.get(int(path.stem), [])) for path in files]
