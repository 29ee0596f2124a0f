"""examples/split_app, ar_app and ar_task as a user's own projects: built out of tree against this build, and run."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from ar_server import ArServer
from wharf_fixture import BIN, PATIENCE, SOURCE, EndToEndTest, environment, sandbox, wait_until

MODEL = SOURCE / "wharf" / "exec" / "testdata" / "small_residual" / "model.onnx"
FREE_SPACE = SOURCE / "examples" / "ar_task" / "free_space.onnx"
PICTURE = SOURCE / "examples" / "cuda_pose" / "scene.png"
NETWORKS = BIN.parent / "share" / "wharf" / "ar"


class ExamplesTest(EndToEndTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.build_folder = pathlib.Path(folder.name)

    def build(self, name):
        """A function that runs the example."""
        out = self.build_folder / name
        configure = ["cmake", "-S", SOURCE / "examples" / name, "-B", out, "-G", "Ninja", f"-DWharf_DIR={BIN.parent}",
                     f"-DCMAKE_CXX_FLAGS={os.environ['WHARF_CXX_FLAGS']}"]
        for command in (configure, ["cmake", "--build", out]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=4 * PATIENCE)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return lambda *arguments: subprocess.run([out / name, *map(str, arguments)], capture_output=True, text=True,
                                                 timeout=PATIENCE,
                                                 env={**(environment(self.folder) or os.environ),
                                                      "XDG_CACHE_HOME": str(self.folder)})

    def test_a_model_by_both(self):
        app, token = self.build("split_app"), self.folder / "token"
        token.write_text("0123456789abcdef\n")
        server = self.serve("--token-file", token)
        done = app(MODEL, server.address, token, PICTURE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"class \d+ of \d+, score [\d.-]+; [\d.]+ ms, by (both|this machine alone)")
        token.write_text("fedcba9876543210\n")
        self.assert_one_clear_line(app(MODEL, server.address, token, PICTURE), "token", program="split_app")

    def test_an_ar_client_with_pictures_of_a_cameras_size(self):
        app, pictures = self.build("ar_app"), self.folder / "wide"
        done = self.command("ar", "render", "--category", "L/L", "--frames", "0:59", "--size", "832x256", "--out", pictures)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = ArServer(self.folder, "server")
        self.addCleanup(server.stop)
        done = app(NETWORKS, server.address, pictures)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"frame 29: at \(.*\) \+- [\d.]+ m, (initialising|good|unreliable)")
        self.assertTrue(done.stdout.endswith("60 frames\n"), done.stdout)
        self.assertEqual(app(self.folder, server.address, pictures).returncode, 1)  # no networks there

    def test_a_task_of_ones_own_beside_the_others(self):
        app, street, curve = self.build("ar_task"), self.folder / "street", self.folder / "free_space.json"
        done = self.command("ar", "render", "--category", "L/H", "--split", "calibration", "--frames", "0:131:2", "--out",
                            street)
        self.assertEqual(done.returncode, 0, done.stderr)
        server = ArServer(self.folder, "server", "--task", f"free_space={FREE_SPACE}")
        self.addCleanup(server.stop)
        done = app("calibrate", server.address, curve, street)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = re.findall(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", done.stdout, re.MULTILINE)
        table = {int(row[0]): row[1:] for row in rows}
        self.assertEqual(list(table), [1, 2, 4, 8, 16, 32], done.stdout)
        for stride, (samples, tracked, _, held) in table.items():
            self.assertGreaterEqual(int(samples), 3)
            if stride >= 8:
                self.assertLess(float(tracked), float(held), done.stdout)
        learned = json.loads(curve.read_text())
        self.assertEqual(learned["task"], "free_space")
        self.assertGreater(learned["rate"], 0)

        def all_are_offloaded():  # a slow machine has time for fewer offloads in a second than there are tasks
            done = app("run", server.address, curve, NETWORKS, street)
            self.assertEqual(done.returncode, 0, done.stderr)
            counts = re.search(r"66 frames; offloads: depth (\d+) odometry (\d+) boxes (\d+) free_space (\d+)\n$",
                               done.stdout)
            self.assertIsNotNone(counts, done.stdout)
            return min(map(int, counts.groups())) > 0 and re.search(r"free \|.{56}\| of \d+ frames ago", done.stdout)
        wait_until(all_are_offloaded, "an offload of each task")
        self.assertEqual(server.stop(), 0)

        without = ArServer(self.folder, "without")
        self.addCleanup(without.stop)
        self.assert_one_clear_line(app("calibrate", without.address, curve, street), "--task free_space=",
                                   program="ar_task")

    def test_a_server_takes_no_task_that_cannot_be(self):
        for task, why in (("depth=model.onnx", "built in"), ("../up=model.onnx", "no task's name"),
                          ("mine", "NAME=MODEL.onnx"), ("mine=/nowhere.onnx", "/nowhere.onnx"),
                          (f"mine={PICTURE}", str(PICTURE))):
            done = self.command("ar", "serve", sandbox(), "--listen", f"unix:{self.folder}/socket", "--task", task)
            self.assert_one_clear_line(done, why)


if __name__ == "__main__":
    unittest.main()
