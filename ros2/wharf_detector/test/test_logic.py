"""What needs no ROS and no server: pictures, boxes, the slot of the newest frame, what diagnostics say."""

import pathlib
import struct
import sys
import threading
import unittest
from array import array

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "ros2" / "wharf_detector")]

# pylint: disable=wrong-import-position
from wharf import Report
from wharf_detector import boxes, health, pictures
from wharf_detector.boxes import Box
from wharf_detector.newest import Newest
from wharf_detector.pictures import BadPicture, Placement


def rgb(height=6, width=8, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def padded(pixels, more):
    """Its bytes, with `more` bytes behind each row, and its step."""
    rows = pixels.reshape(len(pixels), -1).view(np.uint8).reshape(len(pixels), -1)
    return array("B", np.pad(rows, ((0, 0), (0, more)), constant_values=77).tobytes()), rows.shape[1] + more


def png(width, height):
    """As much of one as says its size."""
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height)


def jpeg(width, height, kind=0xc0):
    """Likewise; before it a segment of an application."""
    return (b"\xff\xd8\xff\xe0\x00\x04ab" + bytes([0xff, kind]) + b"\x00\x0b\x08" + struct.pack(">HH", height, width)
            + b"\x01\x01\x11\x00")


class PicturesTest(unittest.TestCase):
    def read(self, encoding, pixels, more=0, big_endian=False):
        data, step = padded(pixels, more)
        return pictures.from_raw(encoding, *pixels.shape[:2], step, big_endian, data)

    def test_colours_in_any_order_with_and_without_padding(self):
        picture = rgb()
        alpha = np.full((6, 8, 1), 9, np.uint8)
        for more in (0, 5):
            for encoding, pixels in (("rgb8", picture), ("bgr8", picture[..., ::-1]),
                                     ("8UC3", picture[..., ::-1]),
                                     ("rgba8", np.concatenate([picture, alpha], axis=2)),
                                     ("bgra8", np.concatenate([picture[..., ::-1], alpha], axis=2))):
                with self.subTest(encoding, more=more):
                    np.testing.assert_array_equal(self.read(encoding, np.ascontiguousarray(pixels), more), picture)

    def test_grey(self):
        grey = rgb()[..., 0]
        expected = np.stack([grey] * 3, axis=-1)
        np.testing.assert_array_equal(self.read("mono8", grey, 3), expected)
        for big_endian, kind in ((False, "<u2"), (True, ">u2")):
            wide = (grey.astype(np.uint16) * 256 + 200).astype(kind)
            np.testing.assert_array_equal(self.read("mono16", wide, 2, big_endian), expected)

    def test_yuv(self):
        # Middle, and the primary colours as BT.601 has them: Y, U, V of each.
        colours = {(235, 128, 128): (255, 255, 255), (16, 128, 128): (0, 0, 0), (82, 90, 240): (255, 0, 0),
                   (145, 54, 34): (0, 255, 0), (41, 240, 110): (0, 0, 255)}
        for (y, u, v), expected in colours.items():
            pair = {"yuv422": [u, y, v, y], "uyvy": [u, y, v, y], "yuyv": [y, u, y, v], "yuv422_yuy2": [y, u, y, v]}
            for encoding, four in pair.items():
                pixels = np.tile(np.array(four, np.uint8).reshape(1, 2, 2), (4, 3, 1))
                got = self.read(encoding, pixels, 4)
                self.assertEqual(got.shape, (4, 6, 3))
                self.assertLessEqual(np.abs(got.astype(int) - expected).max(), 2, (encoding, expected, got[0, 0]))

    def test_what_is_no_picture(self):
        data, step = padded(rgb(), 0)
        for arguments, needle in (
                (("bayer_rggb8", 6, 8, 8, False, data), "image_proc"), (("32FC1", 6, 8, 32, False, data), "32FC1"),
                (("rgb8", 7, 8, step, False, data), "8 x 7"), (("rgb8", 6, 9, step, False, data), "9 x 6"),
                (("rgb8", 6, 8, step - 1, False, data), "23 bytes a row"), (("rgb8", 0, 8, step, False, data), "8 x 0"),
                (("rgb8", 6, 8, step, False, array("B")), "no rgb8 picture"),
                (("rgb8", 1 << 31, 1 << 31, 3 << 31, False, data), "no rgb8 picture"),
                (("yuyv", 6, 7, 14, False, data), "odd")):
            with self.subTest(arguments[0]):
                with self.assertRaises(BadPicture) as raised:
                    pictures.from_raw(*arguments)
                self.assertIn(needle, str(raised.exception))
                self.assertNotIn("\n", str(raised.exception))

    def test_no_step_reads_beyond_the_data(self):
        random = np.random.default_rng(2)
        for _ in range(500):
            height, width, step, size = (int(one) for one in random.integers(0, 40, 4))
            try:
                got = pictures.from_raw("mono8", height, width, step, False, bytes(size))
            except BadPicture:
                continue
            self.assertEqual(got.shape, (height, width, 3))
            self.assertLessEqual(step * (height - 1) + width, size)

    def test_compressed_says_what_is_wrong(self):
        def fails(data):
            raise OSError(f"{len(data)} bytes are nothing")
        for kind, decoder, needle in (("jpeg", None, "python3-opencv"), ("16UC1; compressedDepth", fails, "depths"),
                                      ("rgb8; jpeg compressed bgr8", fails, 'format "rgb8; jpeg compressed bgr8"')):
            with self.assertRaises(BadPicture) as raised:
                pictures.from_compressed(kind, b"123", decoder)
            self.assertIn(needle, str(raised.exception))

    def test_only_jpeg_and_png_of_a_believable_size_are_decoded(self):
        picture, asked = rgb(), []

        def decoder(data):
            asked.append(data)
            return picture
        for data in (png(8, 6), jpeg(8, 6), jpeg(8, 6, kind=0xc2), png(8192, 8192), jpeg(1024, 65500)):
            np.testing.assert_array_equal(pictures.from_compressed("jpeg", data, decoder), picture)
        self.assertEqual(len(asked), 5)
        for data, needle in ((png(1 << 15, 1 << 15), "32768 x 32768"), (jpeg(65500, 65500), "65500 x 65500"),
                             (png(0, 5), "0 x 5"), (jpeg(5, 0), "5 x 0"),
                             (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 6\n", "no JPEG or PNG"),
                             (b"GIF89a\x08\x00\x06\x00", "no JPEG or PNG"), (b"", "no JPEG or PNG"),
                             (b"\xff\xd8" + b"\xff\xe1\x00\x02" * 100_000 + jpeg(8, 6)[2:], "no JPEG or PNG"),
                             (b"\xff\xd8\xff\xe1\x00\x00" + jpeg(8, 6)[2:], "no JPEG or PNG"),
                             (b"\xff\xd8\x00\x00" + jpeg(8, 6)[2:], "no JPEG or PNG")):
            with self.assertRaises(BadPicture) as raised:
                pictures.from_compressed("jpeg", data, decoder)
            self.assertIn(needle, str(raised.exception))
        for size in range(len(jpeg(8, 6)) - 6):  # the header ends within its frame's
            with self.assertRaises(BadPicture):
                pictures.from_compressed("jpeg", jpeg(8, 6)[:size], decoder)
        self.assertEqual(len(asked), 5)

    def test_a_publishers_words_are_no_commands(self):
        for say in (lambda name: pictures.from_raw(name, 6, 8, 24, False, bytes(144)),
                    lambda name: pictures.from_compressed(name, b"x", len)):
            with self.assertRaises(BadPicture) as raised:
                say("\x1b[2J\n" + "x" * 100_000)
            self.assertTrue(str(raised.exception).isprintable())
            self.assertLess(len(str(raised.exception)), 400)


class FittedTest(unittest.TestCase):
    def test_a_picture_of_the_right_size_stays(self):
        picture = rgb()
        got, placement = pictures.fitted(picture, 6, 8, True)
        self.assertIs(got, picture)
        self.assertEqual(placement, Placement(1, 1, 0, 0))

    def test_larger_and_smaller_by_whole_numbers(self):
        picture = rgb()
        doubled = picture.repeat(2, axis=0).repeat(3, axis=1)
        got, placement = pictures.fitted(doubled, 6, 8, False)
        np.testing.assert_array_equal(got, picture)
        self.assertEqual(placement, Placement(1 / 3, 1 / 2, 0, 0))

    def test_a_slope_stays_a_slope(self):
        for have, want in ((100, 37), (100, 150), (64, 48)):
            slope = np.linspace(0, 250, have).astype(np.float32)
            picture = np.rint(np.tile(slope[None, :, None], (4, 1, 3))).astype(np.uint8)
            got, placement = pictures.fitted(picture, 4, want, False)
            middle = (np.arange(want) + 0.5) / placement.scale_x - 0.5
            expected = np.interp(middle, np.arange(have), slope)
            self.assertLessEqual(np.abs(got[2, :, 1] - expected).max(), 1.01)

    def test_aspect_is_kept_with_grey_beside(self):
        picture = np.full((10, 10, 3), 200, np.uint8)
        got, placement = pictures.fitted(picture, 8, 20, True)
        self.assertEqual(placement, Placement(0.8, 0.8, 6, 0))
        np.testing.assert_array_equal(got[:, 6:14], 200)
        np.testing.assert_array_equal(got[:, :6], 114)
        np.testing.assert_array_equal(got[:, 14:], 114)

    def test_boxes_come_back_to_where_they_were(self):
        random = np.random.default_rng(3)
        for _ in range(100):
            height, width, to_height, to_width = (int(one) for one in random.integers(8, 200, 4))
            x, y = np.sort(random.uniform(0, width, 2)), np.sort(random.uniform(0, height, 2))
            picture = np.zeros((height, width, 3), np.uint8)
            _, at = pictures.fitted(picture, to_height, to_width, bool(random.integers(2)))
            there = Box(at.offset_x + at.scale_x * x[0], at.offset_y + at.scale_y * y[0],
                        at.offset_x + at.scale_x * x[1], at.offset_y + at.scale_y * y[1], 1, 0.5)
            [back] = boxes.on_picture([there], at, height, width)
            np.testing.assert_allclose(back[:4], (x[0], y[0], x[1], y[1]), atol=1e-6)
        self.assertEqual(boxes.on_picture([Box(0, 0, 5, 8, 0, 1)], Placement(0.8, 0.8, 6, 0), 10, 10), [],
                         "what lies in the grey is nothing")


def overlap(one, other):
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    shared = max(width, 0) * max(height, 0)
    return shared / ((one.right - one.left) * (one.bottom - one.top) +
                     (other.right - other.left) * (other.bottom - other.top) - shared)


class BoxesTest(unittest.TestCase):
    def test_formats_by_shapes(self):
        for shapes, expected in (([(1, 2, 32, 112), (1, 4, 32, 112)], "centers"), ([(1, 84, 8400)], "yolov8"),
                                 ([(1, 25200, 85)], "yolov5")):
            self.assertEqual(boxes.format_of(shapes), expected)
        for shapes in ([(1, 1000)], [(1, 2, 32, 112)], [(1, 2, 32, 112), (1, 4, 16, 112)], [(2, 84, 8400)], []):
            with self.assertRaisesRegex(ValueError, "no detector"):
                boxes.format_of(shapes)

    def test_centers(self):
        scores, sides = np.zeros((1, 2, 4, 5), np.float32), np.zeros((1, 4, 4, 5), np.float32)
        for label, row, column, score, box in (
                (0, 1, 1, 0.9, (2, 3, 10, 9)), (0, 1, 2, 0.8, (0, 0, 40, 40)),  # no peak
                (1, 3, 4, 0.5, (30, 20, 50, 44)), (1, 0, 3, 0.3, (0, 0, 9, 9)),  # too little
                (0, 3, 0, 0.4, (9, 9, 9, 20)),  # no area
                (1, 3, 1, 0.7, (1, np.nan, 9, 9))):
            scores[0, label, row, column], sides[0, :, row, column] = score, box
        got = boxes.decode([scores, sides], "centers", 32, 48, boxes.Options())
        self.assertEqual(got, [Box(2, 3, 10, 9, 0, np.float32(0.9)), Box(30, 20, 48, 32, 1, 0.5)])

    def test_of_equal_neighbours_the_first_is_the_centre(self):
        scores, sides = np.full((1, 1, 3, 3), 0.6, np.float32), np.zeros((1, 4, 3, 3), np.float32)
        sides[0, 2:], sides[0, 0] = 8, np.arange(9).reshape(3, 3) * 0.1
        [got] = boxes.decode([scores, sides], "centers", 32, 32, boxes.Options())
        self.assertEqual(got.left, 0)

    def test_yolo(self):
        found = [(20, 10, 10, 6, 0.1, 0.8), (21, 10, 10, 6, 0.1, 0.7), (21, 10, 10, 6, 0.75, 0.2),
                 (50, 30, 4, 4, 0.2, 0.1), (60, 30, np.nan, 4, 0.9, 0.1)]
        expected = [(15, 7, 25, 13, 1, 0.8), (16, 7, 26, 13, 0, 0.75)]  # overlapping boxes of two classes are two
        rows = np.array(found, np.float32)
        eight = np.ascontiguousarray(rows.T)[None]
        five = np.concatenate([rows[:, :4], np.full((5, 1), 0.5), rows[:, 4:] * 2], axis=1).astype(np.float32)[None]
        for outputs, kind in (([eight], "yolov8"), ([five], "yolov5")):
            got = boxes.decode(outputs, kind, 64, 64, boxes.Options())
            np.testing.assert_allclose(np.array(got), np.array(expected), rtol=1e-6)

    def test_what_is_kept_is_best_first_apart_and_within(self):
        random = np.random.default_rng(4)
        for _ in range(50):
            rows = random.uniform(-20, 120, (60, 7)).astype(np.float32)
            rows[:, 4:] = random.uniform(0, 1, (60, 3))
            options = boxes.Options(0.4, 0.3, int(random.integers(1, 30)))
            got = boxes.decode([np.ascontiguousarray(rows.T)[None]], "yolov8", 100, 100, options)
            self.assertLessEqual(len(got), options.most_boxes)
            self.assertEqual([one.score for one in got], sorted((one.score for one in got), reverse=True))
            for i, one in enumerate(got):
                self.assertTrue(0 <= one.left < one.right <= 100 and 0 <= one.top < one.bottom <= 100, one)
                self.assertGreaterEqual(one.score, 0.4)
                for other in got[:i]:
                    self.assertTrue(one.label != other.label or overlap(one, other) <= 0.3 + 1e-6)
            # Nothing is missing: what was left out overlaps a better one of its class, or was one too many.
            if len(got) < options.most_boxes:
                every = boxes.decode([np.ascontiguousarray(rows.T)[None]], "yolov8", 100, 100,
                                     options._replace(most_overlap=1.0, most_boxes=1000))
                for one in every:
                    self.assertTrue(one in got or any(better.label == one.label and better.score >= one.score
                                                      and overlap(better, one) > 0.3 - 1e-6 for better in got), one)


class NewestTest(unittest.TestCase):
    def test_the_newest_wins(self):
        newest = Newest()
        for i in range(5):
            newest.put(i)
        self.assertEqual((newest.take(), newest.received, newest.dropped), (4, 5, 4))

    def test_after_its_end(self):
        newest = Newest()
        newest.put(1)
        newest.close()
        newest.put(2)
        self.assertIsNone(newest.take())
        self.assertIsNone(newest.take())
        self.assertEqual((newest.received, newest.dropped), (2, 2))

    def test_threads_take_every_frame_once_in_order_and_count_the_others(self):
        newest, taken, most = Newest(), [], 20000

        def take():
            while True:
                frame = newest.take()
                if frame is None:
                    return
                taken.append(frame)
        thread = threading.Thread(target=take)
        thread.start()
        for i in range(most):
            newest.put(i)
        while most - 1 not in taken[-1:]:
            pass
        newest.close()
        thread.join()
        self.assertEqual(taken, sorted(set(taken)))
        self.assertEqual(len(taken) + newest.dropped, most)


def report(alone=False, ms=20.0):
    return Report(ms, 18.0, alone, "", True, False, 1.0, 9.0, 3.0, 2.0, 172000, 86000, 1e7, "exact", ())


class HealthTest(unittest.TestCase):
    def test_a_stamp_is_whatever_its_publisher_likes(self):
        self.assertEqual(health.age_of(3_500_000_000, 2, 500_000_000), 1.0)
        for sec, nanosec in ((0, 0), (-1, 0), (-(1 << 31), (1 << 32) - 1)):
            self.assertIsNone(health.age_of(3_500_000_000, sec, nanosec))
        self.assertLess(health.age_of(0, (1 << 31) - 1, 0), 0)

    def test_times_and_who_computed(self):
        one = health.Health()
        for i in range(4):
            one.answered(0.05 if i < 3 else None, 0.03, report(alone=i == 0))
        said = one.summary(health.Frames(6, 2), "connected", False)
        values = dict(said.values)
        self.assertEqual((said.level, said.message), (health.OK, "detecting"))
        self.assertEqual(values["frames answered"], "4")
        self.assertEqual(values["frames dropped for newer ones"], "2")
        self.assertEqual(values["ms since the picture was taken"], "50.0 median, 50.0 95 %, 50.0 most")
        self.assertEqual(values["computed by"], "both 3, this machine alone 1")
        self.assertEqual(values["kB a frame"], "172.0 up, 86.0 down")
        self.assertEqual(values["link Mbit/s"], "80.0")
        # Times are of the last period only, counts of all time.
        values = dict(one.summary(health.Frames(6, 2), "connected", False).values)
        self.assertNotIn("ms in the node", values)
        self.assertEqual(values["frames answered"], "4")

    def test_levels(self):
        one = health.Health()
        self.assertEqual(one.summary(health.Frames(0, 0), "connected", False)[:2], (health.WARN, "no frames come"))
        one.answered(None, 0.1, report(alone=True))
        said = one.summary(health.Frames(1, 0), "lost", True)
        self.assertEqual(said[:2], (health.WARN, "this machine detects alone: lost"))
        self.assertTrue(one.refused("broken"))
        self.assertFalse(one.refused("broken"), "it is said once")
        self.assertEqual(one.summary(health.Frames(3, 0), "connected", False)[:2], (health.ERROR, "broken"))
        one.answered(None, 0.1, report())
        self.assertTrue(one.refused("broken otherwise"))
        self.assertEqual(one.summary(health.Frames(5, 0), "connected", False)[:2], (health.WARN, "broken otherwise"))
        one.answered(None, 0.1, report())
        self.assertEqual(one.summary(health.Frames(6, 0), "connected", False).level, health.OK)


if __name__ == "__main__":
    unittest.main()
