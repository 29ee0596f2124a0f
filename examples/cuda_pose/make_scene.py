#!/usr/bin/env python3
"""Draws the scene that cuda_pose ships: people with coloured joint markers, as in a motion-capture studio.

    make_scene.py scene.png

Python's standard library only; the same bytes on every run. The joint colours, the size of the markers and the names of
the joints are those of weights.cc.
"""
import math
import random
import struct
import sys
import zlib

WIDTH, HEIGHT, SUPERSAMPLE = 640, 480, 3
MARKER_RADIUS = 8.0
CHROMA = 0.6
JOINTS = ["head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
          "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle"]
LIMBS = [(0, 1), (0, 2), (1, 2), (1, 3), (3, 5), (2, 4), (4, 6), (1, 7), (2, 8), (7, 8), (7, 9), (9, 11), (8, 10),
         (10, 12)]

# Poses in units of body height from head to ankles, origin between the hips, y down.
STANDING = {0: (0, -.50), 1: (.12, -.33), 2: (-.12, -.33), 3: (.16, -.17), 4: (-.16, -.17), 5: (.19, -.02),
            6: (-.19, -.02), 7: (.085, 0), 8: (-.085, 0), 9: (.10, .25), 10: (-.10, .25), 11: (.11, .5), 12: (-.11, .5)}
WAVING = {**STANDING, 3: (.20, -.43), 5: (.16, -.60)}
WALKING = {**STANDING, 3: (.15, -.20), 5: (0, -.12), 4: (-.19, -.17), 6: (-.26, -.04), 9: (.16, .22), 11: (.24, .44),
           10: (-.10, .25), 12: (-.20, .48)}
CHILD = {**STANDING, 3: (.20, -.19), 5: (.25, -.04), 4: (-.20, -.19), 6: (-.25, -.04)}
PEOPLE = [  # pose, hip x, hip y, height, shirt, trousers
    (WAVING, 66, 300, 226, (122, 134, 158), (92, 88, 84)),
    (WALKING, 226, 262, 214, (150, 138, 118), (78, 84, 104)),
    (CHILD, 340, 384, 118, (126, 148, 132), (110, 96, 92)),
    (STANDING, 528, 240, 384, (146, 122, 126), (84, 88, 92)),
]


def joint_colour(joint):
    """Points on a circle round mid-grey in the chroma plane: each is apart from all others by a plane in RGB."""
    angle = 2 * math.pi * joint / len(JOINTS)
    u, v = CHROMA * math.cos(angle), CHROMA * math.sin(angle)
    axis_u = (2 / math.sqrt(6), -1 / math.sqrt(6), -1 / math.sqrt(6))
    axis_v = (0.0, 1 / math.sqrt(2), -1 / math.sqrt(2))
    return tuple(round(255 * (0.5 + u * a + v * b)) for a, b in zip(axis_u, axis_v))


class Canvas:
    def __init__(self):
        self.w, self.h = WIDTH * SUPERSAMPLE, HEIGHT * SUPERSAMPLE
        self.rows = [bytearray(self.w * 3) for _ in range(self.h)]

    def span(self, y, x0, x1, colour):
        if 0 <= y < self.h:
            x0, x1 = max(0, x0), min(self.w, x1)
            if x1 > x0:
                self.rows[y][3 * x0:3 * x1] = bytes(colour) * (x1 - x0)

    def disc(self, x, y, radius, colour):
        x, y, radius = x * SUPERSAMPLE, y * SUPERSAMPLE, radius * SUPERSAMPLE
        for row in range(math.floor(y - radius), math.ceil(y + radius) + 1):
            inside = radius * radius - (row + 0.5 - y) ** 2
            if inside > 0:
                self.span(row, math.ceil(x - math.sqrt(inside) - 0.5), math.floor(x + math.sqrt(inside) - 0.5) + 1, colour)

    def capsule(self, a, b, radius, colour):
        steps = max(1, int(math.dist(a, b) * 1.5))
        for i in range(steps + 1):
            t = i / steps
            self.disc(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), radius, colour)

    def box(self, x0, y0, x1, y1, colour):
        for row in range(int(y0 * SUPERSAMPLE), int(y1 * SUPERSAMPLE)):
            self.span(row, int(x0 * SUPERSAMPLE), int(x1 * SUPERSAMPLE), colour)

    def pixels(self):
        area = SUPERSAMPLE * SUPERSAMPLE
        for y in range(HEIGHT):
            rows = self.rows[y * SUPERSAMPLE:(y + 1) * SUPERSAMPLE]
            line = bytearray()
            for x in range(WIDTH):
                for channel in range(3):
                    total = 0
                    for row in rows:
                        for i in range(SUPERSAMPLE):
                            total += row[3 * (x * SUPERSAMPLE + i) + channel]
                    line.append((total + area // 2) // area)
            yield line


def draw_room(canvas, rng):
    for y in range(canvas.h):
        t = y / canvas.h
        if t < 0.72:
            colour = tuple(int(c * (1 - 0.25 * t)) for c in (176, 180, 188))
        else:
            colour = tuple(int(c * (0.75 + 0.3 * (t - 0.72))) for c in (150, 138, 124))
        canvas.span(y, 0, canvas.w, colour)
    for _ in range(9):  # panels on the wall
        x, y = rng.randrange(0, WIDTH), rng.randrange(10, 250)
        grey = rng.randrange(120, 200)
        canvas.box(x, y, x + rng.randrange(20, 90), y + rng.randrange(15, 80), (grey, grey + 4, grey + 10))
    for i in range(12):  # seams of the floor
        canvas.box(i * 58, 346, i * 58 + 2, HEIGHT, (112, 102, 92))


def draw_person(canvas, pose, x, y, height, shirt, trousers):
    points = {joint: (x + dx * height, y + dy * height) for joint, (dx, dy) in pose.items()}
    for a in points:
        for b in points:
            assert a >= b or math.dist(points[a], points[b]) > 2 * MARKER_RADIUS + 1, (JOINTS[a], JOINTS[b], height)
    limb, skin = height * 0.035 + 3, (196, 168, 150)
    for a, b in [(7, 9), (9, 11), (8, 10), (10, 12)]:
        canvas.capsule(points[a], points[b], limb * 1.15, trousers)
    for t in range(8):  # torso
        left = [points[1][i] + t / 7 * (points[7][i] - points[1][i]) for i in (0, 1)]
        right = [points[2][i] + t / 7 * (points[8][i] - points[2][i]) for i in (0, 1)]
        canvas.capsule(left, right, limb * 1.3, shirt if t < 7 else trousers)
    for a, b in [(1, 3), (2, 4)]:
        canvas.capsule(points[a], points[b], limb, shirt)
    for a, b in [(3, 5), (4, 6)]:
        canvas.capsule(points[a], points[b], limb * 0.8, skin)
    neck = ((points[1][0] + points[2][0]) / 2, (points[1][1] + points[2][1]) / 2)
    canvas.capsule(points[0], neck, limb * 0.8, skin)
    canvas.disc(*points[0], max(13.0, height * 0.075), skin)
    for joint, point in points.items():
        canvas.disc(*point, MARKER_RADIUS, joint_colour(joint))


def write_png(path, lines):
    raw = b"".join(b"\0" + bytes(line) for line in lines)
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                  chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    canvas = Canvas()
    draw_room(canvas, random.Random(7))
    for person in PEOPLE:
        draw_person(canvas, *person)
    # A crate hides one wrist of the second person: a joint the network must do without.
    canvas.box(150, 236, 186, 275, (140, 120, 96))
    canvas.box(153, 239, 183, 272, (152, 132, 106))
    write_png(sys.argv[1], canvas.pixels())


if __name__ == "__main__":
    main()
