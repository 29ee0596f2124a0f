"""What ros2/wharf_detector does with a model and a server, without ROS: what it finds, and when the server is gone."""

import os
import pathlib
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

from town import render
from wharf_fixture import SOURCE, EndToEndTest, free_port, wait_until

sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "ros2" / "wharf_detector")]
import wharf  # pylint: disable=wrong-import-position
from wharf_detector import inference  # pylint: disable=wrong-import-position
from wharf_detector.inference import Settings  # pylint: disable=wrong-import-position

MODEL = SOURCE / "data" / "ar" / "detector.onnx"
NO_DETECTOR = SOURCE / "wharf" / "exec" / "testdata" / "small_residual" / "model.onnx"
LATE = {"slack_ms": 1e6, "threads": 1}  # however busy this machine is, nothing is finished alone


def overlap(one, other):
    width, height = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - shared)


def hits(found, true):
    """How many of `true` are among `found`, each found box used once."""
    left, count = list(found), 0
    for box in true:
        alike = [one for one in left if one.label == box[4]]
        best = max(alike, key=lambda one, box=box: overlap(one, box), default=None)
        if best is not None and overlap(best, box) >= 0.4:
            left.remove(best)
            count += 1
    return count


class DetectorTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cache = pathlib.Path(folder.name)
        (cls.cache / "town").mkdir()
        cls.frames = render(cls.cache / "town", "0:400:80")

    def setUp(self):
        super().setUp()
        self.use_python_package(self.cache)
        self.said = []

    def start_server(self, *options, **named):
        return self.serve("--cache-dir", self.cache / "server", "--threads", "1", *options, **named)

    def open(self, server="", model=MODEL, load=(), **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that a machine was busy
            options = Settings(str(model), server, {**LATE, **dict(load)}, retry=0.05, **settings)
            detector = inference.Detector(options, lambda good, line: self.said.append((good, line)))
        self.addCleanup(detector.close)
        return detector

    def assert_same(self, found, expected):
        self.assertEqual(len(found.boxes), len(expected.boxes))
        np.testing.assert_allclose(np.array(found.boxes), np.array(expected.boxes), atol=0.05)

    def test_finds_what_is_in_the_pictures(self):
        detector = self.open()
        found = [detector.detect(picture).boxes for picture, _ in self.frames]
        true = [[box for box in boxes if (box[2] - box[0]) * (box[3] - box[1]) >= 150] for _, boxes in self.frames]
        # The network's own recall and precision are 0.75 (data/ar/networks.json); small boxes are the hard ones.
        hit = sum(map(hits, found, true))
        self.assertGreater(sum(map(len, true)), 10)
        self.assertGreaterEqual(hit / sum(map(len, true)), 0.6)
        self.assertGreaterEqual(hit / sum(map(len, found)), 0.5)
        self.assertEqual((detector.link, detector.is_alone, self.said), ("no server wanted", False, []))
        # Of any size: every pixel doubled is the same picture, boxes are twice as large.
        picture, _ = self.frames[0]
        doubled = detector.detect(picture.repeat(2, axis=0).repeat(2, axis=1)).boxes
        np.testing.assert_allclose([one[:4] for one in doubled], 2 * np.array([one[:4] for one in found[0]]), atol=1e-3)

    def test_goes_on_alone_when_the_server_is_killed_and_with_the_next_one(self):
        alone = self.open()
        expected = [alone.detect(picture) for picture, _ in self.frames]
        listen = f"127.0.0.1:{free_port('127.0.0.1')}"
        server = self.start_server(listen=listen)
        detector = self.open(listen, load={"planner": "server-only"})
        self.assertEqual(detector.link, "connected")

        def once(which=[0]):  # pylint: disable=dangerous-default-value
            which[0] += 1
            place = which[0] % len(self.frames)
            found = detector.detect(self.frames[place][0])
            self.assert_same(found, expected[place])
            return found.report
        for _ in range(5):
            report = once()
            self.assertFalse(report.alone)
            self.assertGreater(report.up_bytes, 128 * 448 * 3 - 1)
        server.process.kill()
        wait_until(lambda: not once().connected, "the loss is seen")
        self.assertEqual((detector.link, detector.is_alone), ("lost", True))
        for _ in range(3):
            self.assertTrue(once().alone)
        self.start_server(listen=listen)
        wait_until(lambda: not once().alone, "both compute again")
        self.assertEqual(detector.link, "connected")
        self.assertEqual([good for good, _ in self.said], [False, True], self.said)
        self.assertIn(f"{listen} is lost", self.said[0][1])
        self.assertIn("is back", self.said[1][1])

    def test_begins_alone_when_no_server_is_there_yet(self):
        listen = f"127.0.0.1:{free_port('127.0.0.1')}"
        detector = self.open(listen, load={"planner": "server-only"})
        picture, _ = self.frames[0]
        first = detector.detect(picture)
        self.assertTrue(first.report.alone)
        self.assertEqual((detector.link, detector.is_alone), ("no server reached yet", True))
        self.start_server(listen=listen)
        wait_until(lambda: not detector.detect(picture).report.alone, "the server computes")
        self.assert_same(detector.detect(picture), first)
        self.assertEqual((detector.link, detector.is_alone), ("connected", False))
        self.assertEqual([good for good, _ in self.said], [False, True], self.said)
        self.assertIn("detects alone", self.said[0][1])

    def test_ends_while_it_tries_to_connect(self):
        detector = self.open(f"127.0.0.1:{free_port('127.0.0.1')}")
        detector.close()
        detector.close()
        self.assertNotIn("wharf_detector connects", [thread.name for thread in threading.enumerate()])

    def test_an_engine_that_died_is_started_again(self):
        detector = self.open()
        picture, _ = self.frames[0]
        first = detector.detect(picture)
        os.kill(detector._model._engine.pid, 9)  # pylint: disable=protected-access
        self.assert_same(detector.detect(picture), first)
        self.assertEqual(len(self.said), 1)
        self.assertIn("SIGKILL", self.said[0][1])

    def test_what_is_wrong_is_said_at_once(self):
        token = self.folder / "token"
        token.write_text("right " * 6)
        token.chmod(0o600)
        server = self.start_server("--token-file", token)
        for kind, needle, arguments in (
                (wharf.PermissionDenied, "token", {"server": server.address, "load": {"token": "wrong " * 6}}),
                (wharf.InvalidArgument, "no detector", {"model": NO_DETECTOR}),
                (wharf.NotFound, "nowhere.onnx", {"model": self.folder / "nowhere.onnx"})):
            with self.subTest(needle):
                with self.assertRaises(kind) as raised:
                    self.open(**arguments)
                self.assertIn(needle, str(raised.exception))
                self.assertNotIn("\n", str(raised.exception))
        self.assertEqual(self.said, [])


if __name__ == "__main__":
    unittest.main()
