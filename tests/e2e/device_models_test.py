"""What computes models in a build for devices (make arm64-models), beside the whole build whose server it uses: results
and bytes are those of this machine's programs."""

import json
import os
import pathlib
import struct
import subprocess
import unittest
import zipfile

from wharf_fixture import BIN, CLIENT, EMULATOR, PATIENCE, SOURCE, EndToEndTest, bounded, wait_until

TESTDATA = SOURCE / "wharf" / "exec" / "testdata"
HERE = [BIN / "wharf"]
DEVICE_PYTHON = [*EMULATOR, pathlib.Path(os.environ.get("WHARF_SYSROOT", "/")) / "usr" / "bin" / "python3"]
PLANNERS = ("device-only", "server-only", "dsccs", "intra-dp")
# Of LibTorch's sums, which processors add up in other orders.
LARGEST_DIFFERENCE = 1e-4
PICTURE = b"P5 64 48 255\n" + bytes((i % 64 * 3 + i // 64) % 256 for i in range(64 * 48))


def floats(file):
    """Of an array that NumPy would read."""
    data = file.read_bytes()
    size, = struct.unpack_from("<H", data, 8)
    return struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size:])


class DeviceModelsTest(EndToEndTest):
    def start_server(self, *options):
        return self.serve("--cache-dir", self.folder / "server", "--threads", "1", *options)

    def run_by(self, program, *words):
        """`program` begins the words: this machine's or the device's."""
        self.assertIn(program, (HERE, CLIENT))
        run = self.command if program is HERE else self.client
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def split(self, program, server, name, *options, source=None):
        """The result, a row for each inference, and what it said."""
        source = source or TESTDATA / name / "test_data_set_0" / "input_0.pb"
        output, rows = self.folder / "output.npy", self.folder / "rows.json"
        said = self.run_by(program, "split", TESTDATA / name / "model.onnx", "--server", server.address, "--device", "cpu",
                           "--threads", 1, "--slack", "100s", "--budget", 20000, "--no-more-plans",
                           "--cache-dir", self.folder / ("here" if program is HERE else "there"), "--input",
                           source, "--output", output, "--json", rows, *options)
        return floats(output), json.loads(rows.read_text()), said

    def assert_close(self, one, other):
        self.assertEqual(len(one), len(other))
        scale = max(1, *map(abs, other))
        self.assertLess(max(abs(a - b) for a, b in zip(one, other)), LARGEST_DIFFERENCE * scale)

    # --- Split inference ---

    def test_results_are_those_of_this_machine(self):
        server = self.start_server()
        for name in ("tiny", "small_residual", "small_mobile", "small_encoder"):
            here, _, _ = self.split(HERE, server, name, "--count", 1, "--mode", "device-only")
            for planner in PLANNERS:
                with self.subTest(name, planner=planner):
                    there, _, said = self.split(CLIENT, server, name, "--count", 3, "--check", "--mode", planner)
                    self.assert_close(there, here)
                    self.assertIn("largest difference from the whole model", said)
                    self.assertIn("0 after the device finished alone", said)

    def test_rows_travel_as_they_do_from_here(self):
        server = self.start_server()
        picture = self.folder / "picture.pgm"
        picture.write_bytes(PICTURE)
        for encoding in ("f32", "u8", "packed", "f16", "jpeg"):
            with self.subTest(encoding):
                options = ["--count", 2, "--mode", "server-only", "--encoding", encoding]
                here, sent_here, _ = self.split(HERE, server, "tiny", *options, source=picture)
                there, sent_there, _ = self.split(CLIENT, server, "tiny", *options, source=picture)
                self.assertEqual(sent_there[1]["uplink_bytes"], sent_here[1]["uplink_bytes"])
                self.assert_close(there, here)

    def test_a_link_that_breaks_costs_no_result(self):
        server = self.start_server("--resume-timeout", f"{PATIENCE}s")
        link = self.link(server)
        rows = self.folder / "rows.json"
        process = subprocess.Popen(
            [*CLIENT, "split", TESTDATA / "tiny" / "model.onnx", "--server", link.address, "--mode", "server-only", "--device",
             "cpu", "--threads", "1", "--slack", "100s", "--check", "--wait", "--no-more-plans", "--input", "-", "--cache-dir",
             self.folder / "there", "--json", rows],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self._end, process)

        def say(words):
            process.stdin.write(words)
            process.stdin.flush()
        say(PICTURE)
        with bounded(process):
            self.assertIn(b"ready\n", iter(process.stdout.readline, b""))
        link.drop()
        say(b"\n")
        link.restore()
        wait_until(lambda: server.status().get("resumed") == 1, "it has connected again")
        say(PICTURE)
        _, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, said)
        found = json.loads(rows.read_text())
        self.assertEqual(len(found), 2)
        self.assertFalse(found[-1]["alone"])

    def test_tokens_and_tls(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        tls = self.folder / "tls"
        server = self.start_server("--token-file", token, f"--tls-self-signed={tls}")
        pin = subprocess.run(["openssl", "x509", "-in", tls / "server.crt", "-noout", "-fingerprint", "-sha256"],
                             capture_output=True, text=True, check=True).stdout.strip().rpartition("=")[2]
        options = ["--count", 1, "--mode", "server-only", "--tls-pin", pin]
        here, _, _ = self.split(HERE, server, "tiny", *options, "--token-file", token)
        there, _, _ = self.split(CLIENT, server, "tiny", *options, "--token-file", token)
        self.assertEqual(there, here)
        done = self.client("split", TESTDATA / "tiny" / "model.onnx", "--server", server.address, *options)
        self.assertNotEqual(done.returncode, 0)
        # Where it takes long, lines before it say what is waited for.
        self.assertIn("the server wants a token", done.stderr.splitlines()[-1])

    # --- Python ---

    def test_the_wheel_is_for_every_processor(self):
        made = subprocess.run([SOURCE / "tools" / "python_wheel.sh"], cwd=SOURCE, capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout.split()
        [wheel] = [file for file in made if file.endswith("-py3-none-any.whl")]
        package = self.folder / "package"
        zipfile.ZipFile(SOURCE / wheel).extractall(package)
        self.assertEqual({file.suffix for file in (package / "wharf").iterdir()}, {".py", ".typed"})
        program = ("import platform, sys, numpy, wharf\n"
                   "with wharf.load(sys.argv[1], threads=1) as model:\n"
                   "    model(numpy.zeros(model.inputs[0].shape, numpy.float32))\n"
                   "    print(platform.machine(), wharf.__file__, model.report())\n")
        done = subprocess.run([*DEVICE_PYTHON, "-c", program, TESTDATA / "tiny" / "model.onnx"], capture_output=True,
                              text=True, timeout=PATIENCE, env={**os.environ, "PYTHONPATH": str(package),
                                                                "WHARF_BIN": str(pathlib.Path(CLIENT[-1]).parent)})
        self.assertEqual(done.returncode, 0, done.stderr)
        machine, file, report = done.stdout.split(" ", 2)
        self.assertEqual((machine, file), ("aarch64", str(package / "wharf" / "__init__.py")))
        self.assertIn("alone", report)


if __name__ == "__main__":
    unittest.main()
