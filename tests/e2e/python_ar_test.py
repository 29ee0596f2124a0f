"""`wharf.ArClient`: depth, pose and boxes of every frame for Python programs, with a server and when it is gone."""

import functools
import itertools
import json
import os
import pathlib
import pickle
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

from ar_server import ArServer
from town import render
from wharf_fixture import SHELL, SOURCE, EndToEndTest, wait_until

sys.path.insert(0, str(SOURCE / "python"))
import wharf  # pylint: disable=wrong-import-position

TOKEN = "0123456789abcdef0123456789abcdef"
CAMERA, SIZE, RATE = (224, 208, 223.5, 63.5), (448, 128), 60

def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def overlap(one, other):
    """Intersection over union."""
    width = max(0, min(one[2], other[2]) - max(one[0], other[0]))
    height = max(0, min(one[3], other[3]) - max(one[1], other[1]))
    return width * height / (area(one) + area(other) - width * height)


class ArClientTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.town = pathlib.Path(folder.name)
        cls.frames = render(cls.town, "0:30")
        cls.samples = np.loadtxt(cls.town / "imu.csv", delimiter=",", skiprows=1, ndmin=2)

    def setUp(self):
        super().setUp()
        self.use_python_package(self.folder / "cache")
        self.token = self.folder / "token"
        self.token.write_text(TOKEN + "\n")

    def ar_server(self, *options):
        server = ArServer(self.folder, "ar", "--token-file", self.token, *options)
        self.addCleanup(server.stop)
        return server

    def client(self, server, **options):
        options = {"camera": CAMERA, "size": SIZE, "frames_per_second": RATE, "token_file": self.token, **options}
        client = wharf.ArClient(server, **options)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def patiently(call):
        """What it gives: who is not let in in time, on a busy machine, asks again."""
        def attempt():
            try:
                return call()
            except wharf.Unavailable:
                return None
        return wait_until(attempt, "the server lets the client in")

    def watch(self, client, frames):
        """The result of each."""
        for i, (picture, _) in enumerate(frames):
            now = i / RATE
            since = self.samples[(self.samples[:, 0] > now - 1 / RATE + 1e-9) & (self.samples[:, 0] <= now + 1e-9)]
            yield self.patiently(functools.partial(client, picture, imu=since, time_s=now))

    def test_boxes_are_where_things_are_and_stay_when_the_server_is_gone(self):
        server = self.ar_server()
        picture, boxes = self.frames[0]
        # A picture of another size: boxes are in its pixels.
        large = np.repeat(np.repeat(picture, 2, axis=0), 2, axis=1)
        client = self.client(server.address, tasks=["boxes"], camera=[2 * one for one in CAMERA], size=(896, 256))
        self.patiently(lambda: client(large))
        result = wait_until(lambda: self.answered(client(large)), "the server has found boxes")
        truth = max(boxes, key=area)
        best = max(overlap(box, [2 * side for side in truth[:4]]) for box in result.boxes)
        self.assertGreater(best, 0.5, (result.boxes, truth))
        self.assertTrue(result.connected)
        self.assertEqual((result.server, result.lost, result.depth, result.pose), (server.address, "", None, None))
        server.process.kill()
        server.process.wait()
        alone = wait_until(lambda: (lambda one: None if one.connected else one)(client(large)), "the loss is noticed")
        self.assertNotEqual(alone.lost, "")
        self.assertEqual(len(alone.boxes), len(result.boxes), "they are tracked, and nothing moves")

    @staticmethod
    def answered(result):
        return result if result.boxes and result.tasks["boxes"].stride >= 0 else None

    def test_the_best_that_announces_itself_is_taken(self):
        picture = self.frames[0][0]
        script = self.folder / "avahi-browse"
        script.write_text(f"{SHELL}\nexec cat {self.folder}/announced\n")
        script.chmod(0o700)
        announced = self.folder / "announced"
        announced.write_text("")
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
            client = self.client("auto", tasks=["boxes"])
            with self.assertRaisesRegex(wharf.NotFound, "^no server announces itself [^\n]*wharf ar serve --announce"):
                client(picture)
            with self.assertRaisesRegex(wharf.InvalidArgument, "must prove who it is"):
                self.client("auto", tasks=["boxes"], token_file=None)(picture)
            server = self.ar_server()
            announced.write_text("".join(
                f"=;lo;IPv4;{name};_wharf-ar._tcp;local;{name}.local;127.0.0.1;{port};\n"
                for name, port in (("gone", 1), ("edge", server.address.rsplit(":", 1)[1]))))

            def found():
                try:
                    return client(picture)
                except wharf.NotFound:  # it did not answer in time, on a busy machine
                    return None
            self.assertEqual(wait_until(found, "the server lets the client in").server, server.address)
            agreed = self.client("auto", tasks=["boxes"], sla=0.1)
            with self.assertRaisesRegex(wharf.NotFound, "of 2 announced, [^\n]*"):
                agreed(picture)

    def test_depth_and_pose(self):
        server = self.ar_server()
        with self.client(server.address) as client:
            results, depths = [], []
            for result in self.watch(client, self.frames):
                results.append(result)
                depths.append(result.depth.copy())
        last = results[-1]
        self.assertEqual((last.depth.shape, last.depth.dtype), ((SIZE[1], SIZE[0]), np.float32))
        self.assertTrue(np.isfinite(last.depth).all() and (last.depth >= 0).all() and last.depth.max() > 1)
        self.assertAlmostEqual(float(np.linalg.norm(last.pose.rotation)), 1, places=6)
        self.assertEqual((last.pose.position.shape, last.pose.covariance.shape), ((3,), (6, 6)))
        np.testing.assert_allclose(last.pose.covariance, last.pose.covariance.T)
        self.assertIn(last.pose.state, ("initialising", "good", "unreliable"))
        self.assertEqual(last.pose.why == "", last.pose.state == "good")
        self.assertEqual(set(last.tasks), {"depth", "odometry", "boxes"})
        self.assertTrue(any(task.offloaded for result in results for task in result.tasks.values()))
        for result, depth in zip(results, depths):
            np.testing.assert_array_equal(result.depth, depth, "a result stays as it was")
        self.assertFalse(np.array_equal(depths[0], depths[-1]))

    def test_an_agreed_accuracy_is_kept_and_reported(self):
        server = self.ar_server()
        client = self.client(server.address, sla=10)  # of depth: any machine keeps it
        with self.assertRaisesRegex(wharf.Error, "no frame has come yet"):
            client.report()
        frames, shown = itertools.cycle(self.frames + self.frames[::-1]), itertools.count()

        def next_result():
            i = next(shown)
            now = i / RATE
            samples = np.column_stack([now, self.samples[:1, 1:]])
            time.sleep(0.005)
            return self.patiently(lambda: client(next(frames)[0], imu=samples, time_s=now))

        def served():
            result = next_result()
            return result if result.standing == "served" and result.depth is not None else None
        result = wait_until(served, "the server has a schedule for the client")
        self.assertEqual((set(result.tasks), result.pose, result.boxes), ({"depth"}, None, ()))
        self.assertEqual(result.depth.shape, (SIZE[1], SIZE[0]))
        self.assertTrue(result.connected)

        def reported():
            next_result()
            report = client.report()
            return report if report.served else None
        report = wait_until(reported, "the client has measured the network")
        self.assertEqual((report.sla, report.within, report.server), (10, True, server.address))
        self.assertEqual(report.frames, next(shown))
        self.assertLessEqual(report.served + report.waiting + report.away, report.frames)
        self.assertGreaterEqual(report.offloads, report.answered)
        self.assertGreater(report.answered, 0)
        self.assertGreater(report.network_ms, 0)
        self.assertRegex(str(report), r"^sla 10, mean drop [\d.]+: within; served in \d+ of \d+ frames, stride ")
        server.process.kill()
        server.process.wait()
        alone = wait_until(lambda: (lambda one: one if one.standing == "away" else None)(next_result()),
                           "the loss is noticed")
        self.assertFalse(alone.connected)
        self.assertNotEqual(alone.lost, "")
        self.assertIsNotNone(alone.depth, "it is tracked on")

    def test_an_accuracy_that_cannot_be_kept(self):
        slow = self.folder / "slow.json"
        slow.write_text(json.dumps({"format": "wharf-latency-profile/1", "network": "depth",
                                    "machine": "one that takes minutes", "batches": [{"batch": 1, "ms": 60000}]}))
        server = self.ar_server("--profile", slow)
        client = self.client(server.address, sla=0.001)
        shown = itertools.count()

        def waits():
            now = next(shown) / RATE
            result = self.patiently(lambda: client(self.frames[0][0], imu=np.column_stack([now, self.samples[:1, 1:]]),
                                                   time_s=now))
            time.sleep(0.005)
            return result.standing == "waiting"
        wait_until(lambda: waits() and client.report().why_waiting, "the server says that it has no room, and why")
        report = client.report()
        self.assertIn("a drop of 0.001 cannot be kept here", report.why_waiting)
        self.assertEqual((report.within, report.served), (False, 0))
        self.assertIn("not served", str(report))
        self.assertIn("a larger sla takes less", str(report))

    def test_an_accuracy_is_refused_in_one_clear_line(self):
        server, picture = self.ar_server(), self.frames[0][0]
        boxes = self.client(server.address, tasks=["boxes"], sla=0.1)
        with self.assertRaisesRegex(wharf.Error, "^[^\n]*another task[^\n]*$"):
            self.patiently(lambda: boxes(picture))
        for options, words in (({"tasks": ["depth", "odometry"], "sla": 0.1}, "one task: depth or boxes"),
                               ({"tasks": ["odometry"], "sla": 0.1}, "one task: depth or boxes"),
                               ({"sla": 0}, "from 1e-6 to 10"), ({"sla": 11}, "from 1e-6 to 10"),
                               ({"sla": float("nan")}, "from 1e-6 to 10")):
            with self.assertRaisesRegex(wharf.InvalidArgument, words):
                self.client(server.address, **options)
        plain = self.client(server.address, tasks=["boxes"])
        with self.assertRaisesRegex(wharf.Error, "no accuracy is agreed"):
            plain.report()
        self.assertEqual(self.patiently(lambda: plain(picture)).standing, "")

    def test_errors_are_one_clear_line(self):
        picture = self.frames[0][0]
        samples = self.samples[:4]

        def fails(kind, words, act):
            with self.assertRaises(kind) as caught:
                act()
            self.assertIsInstance(caught.exception, wharf.Error)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

        nobody = self.client("127.0.0.1:1")
        fails(ConnectionError, "no server answers at 127.0.0.1:1", lambda: nobody(picture, imu=samples, time_s=0))
        fails(wharf.Error, "there are no IMU samples with the first frame", lambda: nobody(picture))
        fails(ValueError, "a frame is uint8[128,448,3]; this is uint8[448,128,3]",
              lambda: nobody(picture.swapaxes(0, 1)))
        fails(ValueError, "imu is [n, 7]", lambda: nobody(picture, imu=[1, 2, 3], time_s=0))
        fails(ValueError, "time_s is missing", lambda: nobody(picture, imu=samples))
        fails(ValueError, "what is no number", lambda: nobody(picture, imu=samples * np.nan, time_s=0))
        fails(ValueError, "depth needs odometry", lambda: self.client("127.0.0.1:1", tasks=["depth"]))
        fails(ValueError, "this is ['pose']", lambda: self.client("127.0.0.1:1", tasks=["pose"]))
        fails(ValueError, "focal lengths", lambda: self.client("127.0.0.1:1", camera=(0, 1, 2, 3)))
        fails(FileNotFoundError, "accumo.json", lambda: self.client("127.0.0.1:1", networks=self.folder))
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(nobody)
        nobody.close()
        fails(wharf.Closed, "closed", lambda: nobody(picture))

    def test_the_server_wants_the_right_token_and_frames_in_their_order(self):
        server = self.ar_server()
        picture = self.frames[0][0]
        wrong = self.client(server.address, tasks=["boxes"], token="another token, as long", token_file=None)
        with self.assertRaisesRegex(PermissionError, "token is wrong"):
            self.patiently(lambda: wrong(picture))
        client = self.client(server.address, tasks=["boxes"])
        self.patiently(lambda: client(picture, time_s=5))
        with self.assertRaisesRegex(wharf.InvalidArgument, "a frame at 5 s, after one at 5 s"):
            client(picture, time_s=5)
        client(picture, time_s=6)

if __name__ == "__main__":
    unittest.main()
