"""Offloading by hand: pose_server and pose_client send the input and the results, and nothing else."""

import contextlib
import socket
import struct
import subprocess
import unittest

from wharf_fixture import BIN, PATIENCE, PROGRAMS, SOURCE, EndToEndTest, environment

SCENE = SOURCE / "examples" / "cuda_pose" / "scene.png"
WIDTH, HEIGHT, JOINTS = 320, 256, 13


class NativeTest(EndToEndTest):
    def pose_server(self, clients):
        """Runs on the software device; ends by itself after `clients`."""
        process = subprocess.Popen(
            [BIN / "wharf", "run", "--local", "--device", "soft", "--", PROGRAMS / "pose_server", "--listen",
             "127.0.0.1:0", "--clients", str(clients)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment(self.folder))
        self.addCleanup(self.end_server, process)
        line = process.stdout.readline()
        self.assertRegex(line, r"^pose_server on 127\.0\.0\.1:\d+$")
        return process, line.split()[-1]

    @staticmethod
    def end_server(process):
        if process.poll() is None:
            process.terminate()  # which `wharf run` passes on
        process.communicate(timeout=PATIENCE)

    def pose_client(self, *arguments):
        return subprocess.run([PROGRAMS / "pose_client", *map(str, arguments)], capture_output=True, text=True,
                              timeout=PATIENCE)

    @staticmethod
    def connect(address):
        host, port = address.rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=PATIENCE)

    @staticmethod
    def read(stream, size):
        data = b""
        while len(data) < size:
            part = stream.recv(size - len(data))
            if not part:
                raise AssertionError(f"the server hung up after {len(data)} of {size} bytes")
            data += part
        return data

    def test_it_finds_what_cuda_pose_finds_and_agrees_with_the_cpu(self):
        server, address = self.pose_server(1)
        picture = self.folder / "native.png"
        native = self.pose_client("--server", address, SCENE, "--inferences", 2, "--check", "--output", picture)
        self.assertEqual(native.returncode, 0, native.stderr)
        self.assertIn("check: the detections agree with the CPU's", native.stdout)
        self.assertEqual(server.wait(PATIENCE), 0)

        whole = self.folder / "whole.png"
        transparent = self.run_program(None, "cuda_pose", "--image", SCENE, "--inferences", 1, "--output", whole)
        self.assertEqual(transparent.returncode, 0, transparent.stderr)
        found = [line for line in transparent.stdout.splitlines() if not line.startswith("wrote")]
        self.assertEqual([line for line in native.stdout.splitlines() if not line.startswith(("wrote", "check"))], found)
        self.assertEqual(picture.read_bytes(), whole.read_bytes())

    def test_a_request_is_the_input_and_a_reply_the_results(self):
        server, address = self.pose_server(1)
        with self.connect(address) as stream:
            for shade in (b"\x00", b"\x80"):  # nobody to be seen
                stream.sendall(b"POSE" + struct.pack("<3f", 1, 0, 0) + shade * (WIDTH * HEIGHT * 3))
                poses, keypoints = struct.unpack("<2I", self.read(stream, 8))
                self.assertEqual(poses, 0)
                self.read(stream, 4 * (poses * (5 + 3 * JOINTS) + keypoints * 4))
            stream.shutdown(socket.SHUT_WR)
            self.assertEqual(stream.recv(1), b"", "more than the results")
        self.assertEqual(server.wait(PATIENCE), 0)

    def test_a_client_that_talks_nonsense_harms_nobody(self):
        server, address = self.pose_server(3)
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"POSE" + b"\x00" * 100):
            with self.connect(address) as stream:
                stream.sendall(words)
                with contextlib.suppress(OSError):  # it may have hung up without reading all of it
                    stream.shutdown(socket.SHUT_WR)
                    self.assertEqual(stream.recv(1), b"")
        self.assertEqual(self.pose_client("--server", address, SCENE, "--inferences", 1).returncode, 0)
        self.assertEqual(server.wait(PATIENCE), 0)
        self.assertEqual(server.stderr.read().count("pose_server: "), 2)

    def test_no_server_is_said_in_a_line(self):
        done = self.pose_client("--server", "127.0.0.1:1", SCENE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("pose_client: 127.0.0.1:1: Connection refused", done.stderr)


if __name__ == "__main__":
    unittest.main()
