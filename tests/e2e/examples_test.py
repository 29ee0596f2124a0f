"""examples/split_app and ar_app as a user's own projects: built out of tree against this build, and run."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from ar_server import ArServer
from wharf_fixture import BIN, PATIENCE, SOURCE, EndToEndTest, environment

MODEL = SOURCE / "wharf" / "exec" / "testdata" / "small_residual" / "model.onnx"
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


if __name__ == "__main__":
    unittest.main()
