"""`import wharf`: what Python programs get, with a server and without, and when something ends in the middle."""

import asyncio
import contextlib
import copy
import importlib.util
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import numpy as np

from wharf_fixture import BIN, EMULATOR, PATIENCE, SANITIZER, SHELL, SOURCE, EndToEndTest, free_port, wait_until

sys.path.insert(0, str(SOURCE / "python"))
import wharf  # pylint: disable=wrong-import-position
from wharf import __main__ as command_line  # pylint: disable=wrong-import-position

TESTDATA = SOURCE / "wharf" / "exec" / "testdata"
MODEL = TESTDATA / "small_residual" / "model.onnx"
TUTORIAL = SOURCE / "docs" / "python.md"
LONGEST = 155  # lines of the tutorial
NO_SERVER = "the package finds the programs of a device, which are no server"
LATE = {"slack_ms": 1e6}  # however busy this machine is, nothing is finished alone


def varint(data, place):
    value, shift = 0, 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def stored(path):
    """The floats of an ONNX TensorProto with raw data."""
    data, place, shape, raw = path.read_bytes(), 0, [], b""
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == 2:
            size, place = varint(data, place)
            field, place = data[place:place + size], place + size
            if key >> 3 == 9:
                raw = field
            elif key >> 3 == 1:
                at = 0
                while at < len(field):
                    size, at = varint(field, at)
                    shape.append(size)
        else:
            value, place = varint(data, place)
            if key >> 3 == 1:
                shape.append(value)
    return np.frombuffer(raw, np.float32).reshape(shape)


def case(name):
    """What PyTorch has made of one input: the model's path, input and output."""
    folder = TESTDATA / name
    return folder / "model.onnx", *(stored(folder / "test_data_set_0" / f"{what}_0.pb") for what in ("input", "output"))


class OnlyDLPack:
    """A tensor of a framework that is not installed here."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class PythonTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()  # of what is measured: once for all
        cls.addClassCleanup(folder.cleanup)
        cls.cache = pathlib.Path(folder.name)

    def setUp(self):
        super().setUp()
        self.use_python_package(self.cache)
        self.path, self.x, self.y = case("small_residual")

    def start_server(self, *options, **named):
        return self.serve("--cache-dir", self.cache / "server", "--threads", "1", *options, **named)

    def load(self, server=None, **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that a machine was busy
            model = wharf.load(self.path, server and server.address, **{"threads": 1, **LATE, **options})
        self.addCleanup(model.close)
        return model

    def assert_right(self, y):
        np.testing.assert_allclose(y, self.y, rtol=1e-3, atol=1e-4)

    def assert_line(self, kind, function, *needles):
        """It raises, and says so in one line that contains every needle."""
        with self.assertRaises(kind) as raised:
            function()
        text = str(raised.exception)
        self.assertNotIn("\n", text)
        for needle in needles:
            self.assertIn(needle, text)

    # --- What it computes ---

    def test_computes_alone_what_pytorch_computes(self):
        for name in ("small_residual", "small_mobile", "small_encoder", "tiny"):
            with self.subTest(name):
                path, x, y = case(name)
                with wharf.load(path, threads=1) as model:
                    np.testing.assert_allclose(model(x), y, rtol=1e-3, atol=1e-4)
                    report = model.report()
                    self.assertTrue(report.alone)
                    self.assertEqual((report.lost, report.up_bytes, report.connected), ("", 0, False))
                    self.assertTrue(all(one.rows == one.device_rows for one in report.operators), report.operators)

    def test_computes_with_a_server(self):
        server = self.start_server()
        for planner in ("server-only", "dsccs"):
            with self.subTest(planner):
                model = self.load(server, planner=planner)
                for _ in range(5):
                    self.assert_right(model(self.x))
                self.assertTrue(model.connected)
                report = model.report()
                self.assertEqual(report.lost, "")
                self.assertGreater(report.ms, 0)
                if planner == "server-only":
                    self.assertFalse(report.alone)
                    self.assertGreater(report.server_ms, 0)
                    # The input went up, the output came down.
                    self.assertGreaterEqual(report.up_bytes, self.x.nbytes)
                    self.assertGreaterEqual(report.down_bytes, self.y.nbytes)
                    self.assertGreater(sum(one.server_rows for one in report.operators), 0)
                    self.assertIn("by both", str(report))

    def test_has_the_shape_of_onnx_runtime(self):
        model = self.load()
        [given], [made] = model.get_inputs(), model.get_outputs()
        self.assertEqual((given.type, given.shape), ("tensor(float)", self.x.shape))
        self.assertEqual(made.shape, self.y.shape)
        for names in (None, [made.name]):
            [y] = model.run(names, {given.name: self.x})
            self.assert_right(y)
        self.assertIn(str(given), repr(model))

    def test_takes_what_is_an_array_or_a_tensor(self):
        model = self.load()
        padded = np.zeros((*self.x.shape[:-1], 2 * self.x.shape[-1]), np.float32)
        padded[..., ::2] = self.x
        for x in (padded[..., ::2], OnlyDLPack(self.x.copy()), memoryview(self.x)):
            self.assert_right(model(x))
        model.input_buffer[:] = self.x
        self.assert_right(model(model.input_buffer))
        self.assert_line(wharf.InvalidArgument, lambda: model(OnlyDLPack(self.x, device=2)), "GPU", "x.cpu()")

    def test_takes_bytes_of_a_model(self):
        with wharf.load(self.path.read_bytes(), threads=1) as model:
            self.assert_right(model(self.x))

    def test_takes_pictures(self):
        model = self.load(pictures=True)
        self.assertEqual(model.inputs[0].dtype, np.uint8)
        height, width = self.x.shape[2:]
        pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
        by_picture, by_tensor = model(pixels), model(np.ascontiguousarray(pixels.transpose(2, 0, 1))[None])
        np.testing.assert_array_equal(by_picture, by_tensor)
        normal = (pixels / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        plain = self.load()(normal.transpose(2, 0, 1)[None].astype(np.float32))
        np.testing.assert_allclose(by_picture, plain, rtol=1e-3, atol=1e-3)
        # Of any size: every pixel doubled is the same picture.
        doubled = model(pixels.repeat(2, axis=0).repeat(2, axis=1))
        self.assertEqual(doubled.shape, by_picture.shape)
        self.assert_line(wharf.InvalidArgument, lambda: model(pixels.astype(np.float32)), "[height, width, channels]")

    def test_results_stay(self):
        model = self.load()
        results = [model(self.x * (1 if i % 2 == 0 else 0)) for i in range(12)]
        other = results[1].copy()
        places = [result.__array_interface__["data"][0] for result in results]
        self.assertEqual(len(set(places)), len(places))
        views = [result[:, 1:] for result in results]
        del results
        for _ in range(8):
            model(self.x * 3)
        model.close()
        for i, view in enumerate(views):
            np.testing.assert_array_equal(view, (views[0] if i % 2 == 0 else other[:, 1:]))
        np.testing.assert_allclose(views[0], self.y[:, 1:], rtol=1e-3, atol=1e-4)

    # --- Several at a time ---

    def test_threads_share_a_model(self):
        model = self.load(self.start_server(), planner="server-only")
        inputs = [self.x * (1 + i) for i in range(4)]
        expected, wrong = [model(x).copy() for x in inputs], []

        def use(which):
            for _ in range(10):
                if not np.allclose(model(inputs[which]), expected[which], rtol=1e-3, atol=1e-4):
                    wrong.append(which)
        threads = [threading.Thread(target=use, args=(which,)) for which in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertFalse(np.allclose(expected[0], expected[3]))

    def test_awaited(self):
        async def use():
            async with await wharf.load_async(self.path, threads=1) as model:
                turns = 0

                async def others():
                    nonlocal turns
                    while True:
                        turns += 1
                        await asyncio.sleep(0)
                background = asyncio.ensure_future(others())
                results = await asyncio.gather(*(model.call_async(self.x) for _ in range(3)))
                results += await model.run_async(None, {model.inputs[0].name: self.x})
                background.cancel()
                return results, turns
        results, turns = asyncio.run(use())
        self.assertEqual(len(results), 4)
        for y in results:
            self.assert_right(y)
        self.assertGreater(turns, 1)

    # --- What ends ---

    def test_goes_on_alone_when_the_server_is_killed_and_with_the_next_one(self):
        listen = f"127.0.0.1:{free_port('127.0.0.1')}"
        server = self.start_server(listen=listen)
        model = self.load(server, planner="server-only")
        self.assert_right(model(self.x))
        computed, stop, wrong = 0, threading.Event(), []

        def use():
            nonlocal computed
            while not stop.is_set():
                try:
                    self.assert_right(model(self.x))
                except BaseException as error:  # pylint: disable=broad-except
                    wrong.append(error)
                    return
                computed += 1
        thread = threading.Thread(target=use)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        wait_until(lambda: computed > 3, "inferences are computed")
        server.process.kill()
        wait_until(lambda: not model.connected, "the loss is seen")
        before = computed
        wait_until(lambda: computed > before + 3 or wrong, "inferences are computed alone")
        self.assertTrue(model.report().alone)
        self.start_server(listen=listen)
        wait_until(lambda: model.connected, "the next server is found")
        wait_until(lambda: wrong or not model.report().alone, "it computes")
        stop.set()
        thread.join()
        self.assertEqual(wrong, [])

    def test_says_that_the_engine_died(self):
        model = self.load()
        self.assert_right(model(self.x))
        os.kill(model._engine.pid, signal.SIGKILL)  # pylint: disable=protected-access
        for _ in range(2):
            self.assert_line(wharf.EngineDied, lambda: model(self.x), "SIGKILL", "load the model again")
        model.close()

    def test_says_that_the_engine_died_while_it_computed(self):
        model, raised = self.load(), []
        pid = model._engine.pid  # pylint: disable=protected-access

        def use():
            try:
                while True:
                    model(self.x)
            except wharf.Error as error:
                raised.append(error)
        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        os.kill(pid, signal.SIGKILL)
        for thread in threads:
            thread.join(PATIENCE)
            self.assertFalse(thread.is_alive(), "it hangs")
        self.assertEqual([type(error) for error in raised], [wharf.EngineDied] * 3)

    def test_an_interrupted_inference_disturbs_no_other(self):
        class Interrupted(Exception):
            pass

        def interrupt(*_):
            raise Interrupted
        model = self.load()
        pid = model._engine.pid  # pylint: disable=protected-access
        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        os.kill(pid, signal.SIGSTOP)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with self.assertRaises(Interrupted):
                model(self.x * 2)
        finally:
            os.kill(pid, signal.SIGCONT)
        for _ in range(5):
            self.assert_right(model(self.x))

    def test_the_engine_ends_with_the_model_and_with_the_program(self):
        model = self.load()
        engine = model._engine._process  # pylint: disable=protected-access
        model.close()
        self.assertEqual(engine.returncode, 0)
        self.assert_line(wharf.Closed, lambda: model(self.x), "closed")
        model.close()
        for end in ("", "os.kill(os.getpid(), signal.SIGKILL)"):
            done = self.python("import os, signal, sys, wharf\n"
                               f"model = wharf.load({str(self.path)!r}, threads=1)\n"
                               f"print(model._engine.pid, flush=True)\n{end}\n")
            pid = int(done.stdout)
            wait_until(lambda pid=pid: not pathlib.Path(f"/proc/{pid}").exists(), "the engine has ended")

    def test_belongs_to_one_process(self):
        model = self.load()
        for what in (pickle.dumps, copy.copy, copy.deepcopy):
            self.assert_line(TypeError, lambda what=what: what(model), "cannot be pickled", "load it again")
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                try:
                    model(self.x)
                except wharf.Closed as error:
                    os._exit(0 if "fork" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assert_right(model(self.x))

    # --- What users get wrong ---

    def test_errors_are_one_clear_line(self):
        def load(*arguments, **options):
            return lambda: wharf.load(*arguments, **{"threads": 1, **options})
        missing = self.folder / "missing.onnx"
        self.assert_line(wharf.NotFound, load(missing), str(missing))
        self.assert_line(FileNotFoundError, load(missing), str(missing))
        text = self.folder / "text.onnx"
        text.write_text("no model")
        self.assert_line(wharf.InvalidArgument, load(text), str(text))
        nobody = f"unix:{self.folder}/nobody"
        self.assert_line(wharf.Unavailable, load(self.path, nobody), "no server answers", nobody)
        with self.assertRaisesRegex(wharf.InvalidArgument, '^"edge" is not an address: write HOST:PORT'):
            load(self.path, "edge")()
        self.assert_line(wharf.InvalidArgument, load(self.path, shape={"nothing": (1, 2)}), "nothing")
        self.assert_line(wharf.InvalidArgument, load(self.path, nobody, planner="nobody"), "nobody")
        self.assert_line(wharf.InvalidArgument, load(self.path, allow_jpeg=101), "allow_jpeg")
        model = self.load()
        name = model.inputs[0].name
        self.assert_line(wharf.InvalidArgument, lambda: model(self.x.astype(np.float64)), name, "float32[", "float64[")
        self.assert_line(wharf.InvalidArgument, lambda: model(self.x[0]), name, str(self.x.shape[-1]))
        self.assert_line(ValueError, lambda: model([1, 2]), "int64[2]")
        self.assert_line(wharf.InvalidArgument, lambda: model.run(["other"], {name: self.x}), "no output \"other\"")
        self.assert_line(wharf.InvalidArgument, lambda: model.run(None, {"other": self.x}), "no input \"other\"", name)
        self.assert_line(wharf.InvalidArgument, lambda: model.run(None, {}), name)
        self.assert_right(model(self.x))

    def test_the_server_wants_the_right_token(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        server = self.start_server("--token-file", token)
        for wrong in ({}, {"token": "fedcba9876543210"}):
            self.assert_line(wharf.PermissionDenied, lambda wrong=wrong: self.load(server, **wrong), "token")
        for right in ({"token": "0123456789abcdef"}, {"token_file": token}):
            self.assert_right(self.load(server, planner="server-only", **right)(self.x))

    def test_the_best_that_announces_itself_is_taken(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        server = self.start_server("--token-file", token)
        lines = "".join(f"=;lo;IPv4;{name};_wharf._tcp;local;{name}.local;127.0.0.1;{port};\n"
                        for name, port in (("gone", 1), ("edge", server.address.rsplit(":", 1)[1])))
        (self.folder / "announced").write_text(lines)
        script = self.folder / "avahi-browse"
        script.write_text(f"{SHELL}\nexec cat {self.folder}/announced\n")
        script.chmod(0o700)
        with mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
            with wharf.load(self.path, server="auto", token_file=token, planner="server-only", **LATE) as model:
                model(self.x)
                self.assertFalse(model.report().alone)
            with self.assertRaisesRegex(wharf.InvalidArgument, "must prove who it is"):
                wharf.load(self.path, server="auto")

    def test_says_where_its_programs_are_wanted(self):
        with mock.patch.dict(os.environ, {"WHARF_BIN": str(self.folder)}):
            self.assert_line(wharf.NotFound, lambda: wharf.load(self.path), "install Wharf", "WHARF_BIN")
            shutil.copy("/bin/true", self.folder / "wharf")
            self.assert_line(wharf.NotFound, lambda: wharf.load(self.path), "no wharf-model")
            shutil.copy("/bin/true", self.folder / "wharf-model")  # it answers nothing
            self.assert_line(wharf.EngineDied, lambda: wharf.load(self.path), "exit code 0")

    def test_progress_is_heard_and_may_stop_it(self):
        heard = []
        model = self.load(self.start_server(), planner="dsccs", progress=lambda *said: heard.append(said))
        self.assertTrue(any("connecting" in what for what, _ in heard), heard)
        self.assert_right(model(self.x))

        def stop(*_):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            self.load(self.start_server(), progress=stop)

    # --- Around it ---

    @unittest.skipIf(EMULATOR, NO_SERVER)
    def test_serve(self):
        with wharf.serve(options=["--device", "soft", "--cache-dir", str(self.cache / "server")]) as server:
            model = self.load(server, planner="server-only")
            self.assert_right(model(self.x))
            self.assertFalse(model.report().alone)
            model.close()
        self.assertIsNotNone(server._process.returncode)  # pylint: disable=protected-access
        self.assert_line(wharf.Error, lambda: wharf.serve("0.0.0.0:0", options=["--device", "soft"]), "--token-file")

    def python(self, code, *arguments, interpreter=sys.executable, **variables):
        path = self.folder / "program.py"
        path.write_text(code)
        return subprocess.run([*EMULATOR, interpreter, path, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.folder, env={**os.environ, "PYTHONPATH": str(SOURCE / "python"), **variables})

    def test_the_command_finds_the_script(self):
        for words, options, script in (
                ("--server edge:7070 train.py --epochs 3", "--server edge:7070", "train.py --epochs 3"),
                ("--local -m pkg -x", "--local", "-m pkg -x"), ("--local -- script x.py", "--local", "script x.py"),
                ("--help", "--help", "")):
            self.assertEqual(command_line.parted(words.split()), (options.split(), script.split()))

    @unittest.skipUnless((BIN.parent / "lib" / "wharf" / "libcudart.so.13").exists(), "no drop-in CUDA libraries")
    @unittest.skipIf(SANITIZER, "a sanitizer's runtime would have to come before the interpreter")
    @unittest.skipIf(EMULATOR, NO_SERVER)
    def test_the_command_runs_a_script_with_the_drop_in_libraries(self):
        script = self.folder / "script.py"
        script.write_text("import ctypes, sys, wharf\n"
                          "count = ctypes.c_int()\n"
                          "assert ctypes.CDLL('libcudart.so.13').cudaGetDeviceCount(ctypes.byref(count)) == 0\n"
                          f"with wharf.load({str(self.path)!r}, threads=1) as model:\n"
                          "    print(sys.argv[1:], count.value, model.inputs[0].name)\n")
        done = subprocess.run([sys.executable, "-m", "wharf", "run", "--local", script, "--epochs", "3"],
                              capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "python")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("['--epochs', '3'] 1 ", done.stdout)
        done = self.python("import runpy; runpy.run_module('wharf', run_name='__main__')")
        self.assertEqual(done.returncode, 2)

    @unittest.skipUnless(importlib.util.find_spec("pip"), "a device has none")
    def test_a_wheel_installs_and_finds_the_programs_it_was_built_with(self):
        source, wheels, home = self.folder / "python", self.folder / "wheels", self.folder / "venv"
        shutil.copytree(SOURCE / "python", source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))

        def run(*words, **options):
            done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE, **options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        pip = [sys.executable, "-m", "pip"]
        run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", wheels, source)
        [wheel] = wheels.glob("wharf-*-py3-none-any.whl")
        version = re.search(r"VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text().split("project(")[1]).group(1)
        self.assertEqual(wheel.name.split("-")[1], version)
        self.assertEqual(wharf.__version__, version)
        run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", home)
        python = home / "bin" / "python"
        run(*pip, "--python", python, "install", "--no-deps", "--no-index", wheel)
        done = self.python("import pathlib, sys, wharf\n"
                           f"with wharf.load({str(self.path)!r}, threads=1) as model:\n"
                           "    print(pathlib.Path(wharf.__file__).is_relative_to(sys.prefix), model.inputs[0].name)\n"
                           "assert (pathlib.Path(wharf.__file__).parent / 'py.typed').exists()\n",
                           interpreter=python, PYTHONPATH="", WHARF_BIN="")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("True "), done.stdout)

    @unittest.skipIf(EMULATOR, NO_SERVER)
    def test_the_tutorial(self):
        text = TUTORIAL.read_text()
        self.assertLessEqual(len(text.splitlines()), LONGEST)
        blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 3)
        (self.folder / "model.onnx").write_bytes(self.path.read_bytes())
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        server = self.start_server("--token-file", token)
        done = self.python("\n".join(blocks).replace("edge:7070", server.address), PATH=f"{BIN}:{os.environ['PATH']}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(" ms, by ", done.stdout)


if __name__ == "__main__":
    unittest.main()
