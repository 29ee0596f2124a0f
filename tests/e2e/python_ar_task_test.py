"""AR tasks of a Python program's own (`own_tasks` of `wharf.ArClient`, `wharf.calibrate`): the example's free space."""

import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import numpy as np

from ar_server import ArServer
from town import render
from wharf_fixture import BIN, PATIENCE, SOURCE, EndToEndTest, environment, wait_until

EXAMPLE = SOURCE / "examples" / "ar_task"
sys.path[:0] = [str(SOURCE / "python"), str(EXAMPLE)]
import wharf  # pylint: disable=wrong-import-position
from free_space import FreeSpace  # pylint: disable=wrong-import-position

TASK = f"free_space={EXAMPLE / 'free_space.onnx'}"
CAMERA, SIZE, RATE = (224, 208, 223.5, 63.5), (448, 128), 60
STRIPS = 56
PAGE = SOURCE / "docs" / "ar-tasks.md"


class Watched(FreeSpace):
    """Free space whose functions do as they are told first; keeps what it was given."""

    def __init__(self):
        self.tracked = []  # (result, from, to, what came of it)
        self.freshest = None
        self.before_read = self.before_track = self.before_loss = lambda: None

    def read(self, outputs, frame):
        self.before_read()
        self.freshest = super().read(outputs, frame)
        return self.freshest

    def track(self, result, from_frame, to_frame):
        self.before_track()
        found = super().track(result, from_frame, to_frame)
        self.tracked.append((result, from_frame, to_frame, found))
        return found

    def loss(self, tracked, fresh):
        told = self.before_loss()
        return super().loss(tracked, fresh) if told is None else told


def error_of(result):
    return result.tasks["free_space"].error


def raising(error):
    def function():
        raise error
    return function


class PythonArTaskTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.street = pathlib.Path(folder.name) / "street"
        cls.pictures = [picture for picture, _ in render(cls.street, "0:65", category="L/H")]
        cls.samples = np.loadtxt(cls.street / "imu.csv", delimiter=",", skiprows=1, ndmin=2)

    def setUp(self):
        super().setUp()
        self.use_python_package(self.folder / "cache")

    def server(self, name="server", options=("--task", TASK)):
        server = ArServer(self.folder, name, *options)
        self.addCleanup(server.stop)
        return server

    def client(self, server, tracker, calibration=None, **options):
        options = {"camera": CAMERA, "size": SIZE, "frames_per_second": RATE, "tasks": (),
                   "own_tasks": {"free_space": (tracker, calibration)}, **options}
        client = wharf.ArClient(server.address, **options)
        self.addCleanup(client.close)
        self.patiently(lambda: self.show(client))
        return client

    @staticmethod
    def patiently(call):
        """What it gives: who is not let in in time, on a busy machine, asks again."""
        def attempt():
            try:
                return call() or True
            except wharf.Unavailable:
                return None
        return wait_until(attempt, "the server lets the client in")

    def show(self, client):
        """The next picture of the street, which goes there and back again; what is known of it."""
        client.shown = getattr(client, "shown", -1) + 1
        place = client.shown % (2 * len(self.pictures) - 2)
        picture = self.pictures[min(place, 2 * len(self.pictures) - 2 - place)]
        time.sleep(0.005)  # else all processors do is track
        return client(picture, imu=self.samples[:4], time_s=client.shown / RATE)

    def until(self, client, condition, what):
        """The first result that is so."""
        def attempt():
            result = self.show(client)
            return result if condition(result) else None
        return wait_until(attempt, what)

    def until_answered(self, client):
        return self.until(client, lambda result: result.tasks["free_space"].result is not None, "an answer")

    # --- In a client ---

    def test_every_frame_has_a_result_by_the_tracker(self):
        tracker = Watched()
        client = self.client(self.server(), tracker)
        first = self.until_answered(client)
        self.assertEqual((first.depth, first.pose, first.boxes, set(first.tasks)), (None, None, (), {"free_space"}))
        self.assertGreaterEqual(first.tasks["free_space"].stride, 0)
        for _ in range(20):
            task = self.show(client).tasks["free_space"]
            result, before, frame, found = tracker.tracked[-1]
            self.assertIs(task.result, found)
            self.assertEqual((frame.index, frame.imu.shape), (client.shown, (4, 7)))
            place = client.shown % (2 * len(self.pictures) - 2)
            np.testing.assert_array_equal(frame.picture, self.pictures[min(place, 2 * len(self.pictures) - 2 - place)])
            np.testing.assert_array_equal(frame.imu, self.samples[:4])
            self.assertLess(before.index, frame.index)
            np.testing.assert_array_equal(FreeSpace().track(result, before, frame), found, "frames stay as they were")
            self.assertEqual((found.shape, found.dtype), ((STRIPS,), np.float32))
            self.assertIsNone(task.error)
        with self.assertRaisesRegex(ValueError, "read-only"):
            task.result[0] = 0
        held = client._functions._results  # pylint: disable=protected-access
        self.assertLess(len(held), 10, "results that nobody needs are forgotten")

    def test_beside_the_built_in_tasks(self):
        tracker = Watched()
        wide = [np.repeat(np.repeat(picture, 2, axis=0), 2, axis=1) for picture in self.pictures[:2]]
        server = self.server()
        client = self.client(server, tracker, tasks=["depth", "odometry", "boxes"])
        self.until_answered(client)
        result = self.until(client, lambda one: one.depth is not None, "depth")
        self.assertEqual(set(result.tasks), {"depth", "odometry", "boxes", "free_space"})
        self.assertIsNone(result.tasks["depth"].result)
        # Of another size: it is seen as it travels.
        with wharf.ArClient(server.address, camera=[2 * one for one in CAMERA], size=(896, 256), tasks=["boxes"],
                            own_tasks={"free_space": wharf.OwnTask(tracker)}) as other:
            self.patiently(lambda: other(wide[0]))
            wait_until(lambda: other(wide[1]).tasks["free_space"].result is not None, "an answer")
        self.assertEqual(tracker.tracked[-1][2].picture.shape, (128, 448, 3))

    def test_an_agreed_accuracy(self):
        server = self.server(options=("--task", TASK, "--promise", "free_space"))
        tracker = Watched()
        client = self.client(server, tracker, tasks=None, sla=10)
        result = self.until(client, lambda one: one.standing == "served" and client.report().answered >= 3,
                            "it is served")
        self.assertEqual((result.depth, result.pose, result.boxes, set(result.tasks)), (None, None, (), {"free_space"}))
        task = self.show(client).tasks["free_space"]
        last = tracker.tracked[-2:]  # from the newest answer; where the frame is offloaded, from the one before, too
        self.assertTrue(any(task.result is found for _, _, _, found in last))
        self.assertEqual(last[-1][2].index, client.shown)
        self.until(client, lambda _: client.report().served > 0 and client.report().drop_rate > 0, "what is lost is known")
        report = client.report()
        self.assertEqual((report.sla, report.within, report.server), (10, True, server.address))
        self.assertGreater(report.mean_stride, 0)
        tracker.before_read = raising(OverflowError("read"))
        before = report.refused
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.until(client, lambda _: client.report().refused > before, "an answer that cannot be read is refused")
        tracker.before_read = lambda: None
        for options in ({"tasks": ["boxes"]}, {"own_tasks": {"a": (tracker, None), "b": (tracker, None)}}):
            with self.assertRaisesRegex(wharf.InvalidArgument, "one task: depth or boxes, or one of the program's own"):
                self.client(server, tracker, sla=1, **options)
        with self.assertRaisesRegex(wharf.Error, "^[^\n]*another task: free_space[^\n]*$"):
            self.client(server, tracker, tasks=["boxes"], own_tasks=None, sla=1)

    def test_it_tracks_on_when_the_server_is_gone(self):
        server, tracker = self.server(), Watched()
        client = self.client(server, tracker)
        self.until_answered(client)
        server.process.kill()
        server.process.wait()
        self.until(client, lambda result: not result.connected, "the loss is noticed")
        strides = []
        for _ in range(10):
            task = self.show(client).tasks["free_space"]
            strides.append(task.stride)
            self.assertIs(task.result, tracker.tracked[-1][3])
            self.assertEqual(tracker.tracked[-1][2].index, client.shown)
        self.assertEqual(strides, list(range(strides[0], strides[0] + 10)))

    def test_a_function_that_fails_costs_its_result_only(self):
        tracker = Watched()
        client = self.client(self.server(), tracker, tasks=["boxes"])
        before = self.until_answered(client).tasks["free_space"].result
        tracker.before_track = raising(IndexError("strip 57\nof 56"))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            for _ in range(3):
                result = self.show(client)
                task = result.tasks["free_space"]
                self.assertIs(task.result, before)
                self.assertIsInstance(task.error, IndexError)
                self.assertEqual(set(result.tasks), {"boxes", "free_space"})
                self.assertIsNone(result.tasks["boxes"].error)
        [heard] = [one for one in heard if one.category is RuntimeWarning]
        self.assertRegex(str(heard.message), r"^wharf: the task free_space: track raised IndexError: strip 57 of 56 "
                                             r"\(python_ar_task_test.py:\d+\); the result before stays$")
        self.assertEqual(heard.filename, __file__, "the line that called the client")

        class Speechless(Exception):
            def __str__(self):
                raise self
        for error in (ValueError("no text: \0 \udc80 \x1b"), Speechless(), ValueError("long " * 100_000)):
            tracker.before_track = raising(error)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                self.assertIs(self.show(client).tasks["free_space"].error, error)
        tracker.before_track = lambda: None
        task = self.show(client).tasks["free_space"]
        self.assertIsNone(task.error)
        self.assertIsNot(task.result, before)
        self.assertIs(task.result, tracker.tracked[-1][3])
        self.assertEqual(tracker.tracked[-1][2].index, client.shown)

    def test_functions_that_give_what_they_should_not(self):
        tracker = Watched()
        client = self.client(self.server(), tracker)
        self.until_answered(client)

        def fails(kind, words):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                error = self.until(client, error_of, words).tasks["free_space"].error
            self.assertIsInstance(error, kind)
            self.assertIn(words, str(error))

        for told, kind, words in (("much", TypeError, "loss gave 'much': it is a number"),
                                  (-1, ValueError, "loss gave -1"), (float("nan"), ValueError, "loss gave nan"),
                                  ([1, 2], TypeError, "")):
            tracker.before_loss = lambda told=told: told
            fails(kind, words)
        tracker.before_loss = lambda: np.float32(0.5)
        tracker.before_read = raising(OverflowError("read"))
        fails(OverflowError, "read")
        # None is no error: there is no result, and the one before stays.
        tracker.track = lambda *_: None
        tracker.before_read = lambda: None
        before = self.until(client, lambda result: not error_of(result), "no error").tasks["free_space"]
        again = self.show(client).tasks["free_space"]
        self.assertIsNotNone(again.result)
        self.assertIsNone(again.error)
        self.assertIsNotNone(before.result)

    def test_a_slow_tracker_is_waited_for(self):
        tracker = Watched()
        client = self.client(self.server(), tracker)
        self.until_answered(client)
        tracker.before_track = functools.partial(time.sleep, 0.6)  # more than an offload may take
        for _ in range(3):
            self.assertIs(self.show(client).tasks["free_space"].result, tracker.tracked[-1][3])
            self.assertEqual(tracker.tracked[-1][2].index, client.shown)
        tracker.before_track = lambda: None
        old = tracker.freshest
        self.until(client, lambda _: tracker.freshest is not old, "another answer")

    def test_a_local_algorithm(self):
        class Local(FreeSpace):
            asked = 0

            def local(self, frame):
                self.asked += 1
                return np.full(STRIPS, frame.picture.mean() / 255, np.float32)
        tracker, server = Local(), self.server()
        client = self.client(server, tracker)
        self.assertIsNotNone(self.show(client).tasks["free_space"].result, "before any answer")
        self.assertGreater(tracker.asked, 0)
        report = self.calibrate(server, tracker, [self.street], strides=[1, 4], every=32)
        self.assertGreater(report.local_drop, 0)
        self.assertEqual(json.loads(report.json)["local_drop"], report.local_drop)

    def test_ctrl_c_in_a_function(self):
        tracker = Watched()
        client = self.client(self.server(), tracker)
        self.until_answered(client)
        tracker.before_track = raising(KeyboardInterrupt())
        with self.assertRaises(KeyboardInterrupt):
            self.show(client)
        tracker.before_track = lambda: None
        for _ in range(3):
            self.assertIs(self.show(client).tasks["free_space"].result, tracker.tracked[-1][3])

    def test_the_client_cannot_be_used_by_its_functions_but_closed(self):
        tracker = Watched()
        client = self.client(self.server(), tracker)
        self.until_answered(client)
        tracker.before_track = lambda: client(self.pictures[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            error = self.show(client).tasks["free_space"].error
        self.assertIsInstance(error, wharf.Error)
        self.assertIn("cannot use the client that calls them", str(error))
        tracker.before_track = client.close
        with self.assertRaises(wharf.Closed):
            self.show(client)

    def test_either_side_may_die(self):
        tracker = Watched()
        client = self.client(self.server(), tracker)
        self.until_answered(client)
        engine = client._engine.pid  # pylint: disable=protected-access
        tracker.before_track = lambda: os.kill(engine, signal.SIGKILL)
        with self.assertRaisesRegex(wharf.EngineDied, "SIGKILL"):
            self.show(client)
        done = self.python(
            "import os, signal, sys, numpy, wharf\n"
            "class Dying(wharf.Tracker):\n"
            "    def read(self, outputs, frame):\n"
            "        print(client._engine.pid, flush=True)\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "    track = loss = lambda *_: 0\n"
            "client = wharf.ArClient(sys.argv[1], camera=(1, 1, 1, 1), size=(64, 64), tasks=(),\n"
            "                        own_tasks={'free_space': (Dying(), None)})\n"
            "while True:\n"
            "    try:\n"
            "        client(numpy.zeros((64, 64, 3), numpy.uint8))\n"
            "    except wharf.Unavailable:\n"
            "        pass\n", self.server("other").address)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        pid = int(done.stdout)
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the engine has ended")

    def python(self, code, *arguments):
        path = self.folder / "program.py"
        path.write_text(code)
        return subprocess.run(
            [sys.executable, path, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
            cwd=self.folder, env={**os.environ, "PYTHONPATH": f"{SOURCE / 'python'}:{EXAMPLE}", "WHARF_BIN": str(BIN)})

    # --- Calibration ---

    def calibrate(self, server, tracker, videos, **options):
        return self.patiently(lambda: wharf.calibrate(server.address, "free_space", tracker, videos, **options))

    def test_calibrates_to_what_the_same_rule_in_cpp_does(self):
        server, curve, build = self.server(), self.folder / "free_space.json", self.folder / "ar_task"
        report = self.calibrate(server, FreeSpace(), [self.street])
        self.assertEqual([loss.stride for loss in report.losses], [1, 2, 4, 8, 16, 32])
        self.assertEqual((report.task, report.frames, report.refused, report.local_drop), ("free_space", 66, 0, None))
        self.assertIsNone(report.held_out_error, "there is one video")
        for loss in report.losses:
            self.assertAlmostEqual(loss.curve, report.rate * loss.stride ** report.exponent, 6)
            if loss.stride >= 8:
                self.assertLess(loss.tracked, loss.held)
        self.assertIn("free_space loses", str(report))
        report.save(curve)
        saved = json.loads(curve.read_text())
        self.assertEqual((saved["task"], saved["source"], saved["rate"]), ("free_space", "street", report.rate))

        flags = os.environ.get("WHARF_CXX_FLAGS", "")
        for command in (["cmake", "-S", EXAMPLE, "-B", build, "-G", "Ninja", f"-DWharf_DIR={BIN.parent}",
                         f"-DCMAKE_CXX_FLAGS={flags}"], ["cmake", "--build", build]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=4 * PATIENCE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = subprocess.run([build / "ar_task", "calibrate", server.address, curve, self.street], capture_output=True,
                              text=True, timeout=PATIENCE, env=environment(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = re.findall(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE)
        np.testing.assert_allclose(np.array(rows, float), np.array(report.losses), atol=6e-4)
        # Either file is the other's.
        client = self.client(server, FreeSpace(), curve)
        self.until_answered(client)

    def test_calibrates_by_pictures_of_any_iterable(self):
        server = self.server()
        files = self.calibrate(server, FreeSpace(), [self.street, self.street], strides=[1, 4], every=32)
        given = self.calibrate(server, FreeSpace(), (iter(self.pictures), self.street), strides=[1, 4], every=32,
                               source="a street")
        self.assertEqual(given.losses, files.losses)
        self.assertEqual(json.loads(given.json)["source"], "a street")
        self.assertIsNotNone(files.held_out_error)
        smaller = self.calibrate(server, FreeSpace(), [self.street], strides=[1, 4], every=32, size=(224, 64))
        self.assertEqual(smaller.frames, len(self.pictures))

    def test_what_a_function_raises_ends_the_calibration(self):
        server, tracker = self.server(), Watched()
        for name in ("before_read", "before_track", "before_loss"):
            error = ZeroDivisionError(name)
            setattr(tracker, name, raising(error))
            with self.assertRaises(ZeroDivisionError) as caught:
                self.calibrate(server, tracker, [self.street], strides=[1, 4])
            self.assertIs(caught.exception, error)
            setattr(tracker, name, lambda: None)

        tracker.before_track = raising(KeyboardInterrupt())
        with self.assertRaises(KeyboardInterrupt):
            self.calibrate(server, tracker, [self.street])
        tracker.before_track = lambda: None

        def breaking():
            yield from self.pictures[:3]
            raise ZeroDivisionError("the camera is gone")
        with self.assertRaisesRegex(ZeroDivisionError, "the camera is gone"):
            self.calibrate(server, tracker, [breaking()])
        with self.assertRaisesRegex(ValueError, r"a picture is uint8\[128,448,3\]; this is uint8\[64,448,3\]"):
            self.calibrate(server, tracker, [[self.pictures[0], self.pictures[0][:64]]])

    # --- What users get wrong ---

    def test_errors_are_one_clear_line(self):
        def fails(kind, words, act):
            with self.assertRaises(kind) as caught:
                act()
            self.assertIsInstance(caught.exception, wharf.Error)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

        def opened(own, **options):
            options = {"camera": CAMERA, "size": SIZE, "tasks": (), **options}
            return lambda: wharf.ArClient("127.0.0.1:1", own_tasks=own, **options).close()
        other = self.folder / "lanes.json"
        other.write_text('{"format": "wharf-ar-task/1", "task": "lanes", "rate": 0.1, "exponent": 1, "offload_ms": 60}')
        fails(ValueError, "(tracker, calibration)", opened({"free_space": FreeSpace()}))
        fails(ValueError, "int has no read", opened({"free_space": (3, None)}))
        fails(ValueError, "../up", opened({"../up": (FreeSpace(), None)}))
        fails(ValueError, "lanes.json is a calibration of \"lanes\", not of \"free_space\"",
              opened({"free_space": (FreeSpace(), other)}))
        fails(FileNotFoundError, "missing.json", opened({"free_space": (FreeSpace(), self.folder / "missing.json")}))
        fails(ValueError, "at most 5", opened({f"task{i}": (FreeSpace(), None) for i in range(6)}))
        fails(ValueError, "say some", opened({}))
        fails(ValueError, "one task: depth or boxes", opened({"a": (FreeSpace(), None), "b": (FreeSpace(), None)}, sla=0.1))

        def calibrated(videos, task="free_space", **options):
            return lambda: wharf.calibrate("127.0.0.1:1", task, FreeSpace(), videos, **options)
        fails(ValueError, "videos is a list", calibrated(self.street))
        fails(ValueError, "no videos", calibrated([]))
        fails(ValueError, "video 0 has no pictures", calibrated([[]]))
        fails(FileNotFoundError, "nowhere", calibrated([self.folder / "nowhere"]))
        fails(ValueError, "depth", calibrated([self.street], task="depth"))
        fails(ValueError, "each side must be 16 to 4096", calibrated([[np.zeros((8, 64, 3), np.uint8)]]))
        fails(ValueError, "video 1 has pictures of 448 x 128, not of 224 x 64: only those of files are resized",
              calibrated([self.street, self.pictures], size=(224, 64)))
        fails(ValueError, "this is [128, 448]", calibrated([[self.pictures[0][..., 0]]]))
        fails(ConnectionError, "127.0.0.1:1", calibrated([self.street]))
        server = self.server("without", options=())
        fails(wharf.Error, "--task free_space=",
              lambda: self.calibrate(server, FreeSpace(), [self.street]))
        with self.assertRaisesRegex(wharf.Error, "--task free_space="):
            self.client(server, FreeSpace())

    # --- The page ---

    def test_the_page(self):
        section = PAGE.read_text().split("\n### In Python\n")[1].split("\n## ")[0]
        blocks = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 1)
        for name in ("street-0", "street-1"):
            os.symlink(self.street, self.folder / name)
        np.save(self.folder / "drive.npy", self.pictures)
        camera = "import numpy\ncamera = 10 * list(numpy.load('drive.npy'))\n"
        code = camera + "\n".join(blocks).replace("edge:7072", self.server().address)

        def attempt():
            done = self.python(code)
            if "wharf._errors.Unavailable" in done.stderr:
                return None  # a busy machine: who is not let in in time asks again
            self.assertEqual(done.returncode, 0, done.stderr)
            return done
        self.assertIn("free_space loses", wait_until(attempt, "the server lets the program in").stdout)


if __name__ == "__main__":
    unittest.main()
