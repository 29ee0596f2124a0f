"""AR clients and servers as processes: both kinds of clients, hand-over, TLS, and clients that do wrong, which costs
the others nothing.

The clients that do wrong, and the one that is watched meanwhile, speak the protocol themselves (docs/protocol.md, "AR
sessions"): every picture of the latter must be answered with a result.
"""

import contextlib
import json
import math
import os
import pathlib
import random
import signal
import struct
import subprocess
import threading
import unittest

from ar_peer import (BOXES, DEPTH, FAILED, GOODBYE, HELLO, MODEL, PICTURE, REPORT, RESULT, STREET, WELCOME, RawClient,
                     hello, picture)
from ar_server import ArServer
from frames import frame
from wharf_fixture import (CLIENT, EMULATOR, PATIENCE, PROGRAMS, SANITIZER, SOURCE, EndToEndTest, children,
                           command_line, environment, serving_process, wait_until)

NOISE = random.Random(1).randbytes


class ArTest(EndToEndTest):
    def serve_ar(self, name="server", *options, **named):
        server = ArServer(self.folder, name, *options, **named)
        self.addCleanup(server.stop)
        return server

    def client_command(self, server, *options):
        return [*CLIENT, "ar", "client", "--server", server.address, *map(str, options)]

    def run_client(self, server, *options):
        """To its end; what it wrote as JSON."""
        result = self.folder / "client.json"
        done = subprocess.run([*self.client_command(server, "--json", result, *options)], capture_output=True, text=True,
                              timeout=PATIENCE, env=environment(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(result.read_text())

    def street(self):
        """A folder with two seconds of the synthetic world."""
        folder = self.folder / "street"
        done = self.command("ar", "render", "--category", "L/L", "--frames", "0:119", "--out", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder

    def start_client(self, server, *options):
        process = subprocess.Popen(self.client_command(server, *options), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment(self.folder))
        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process


class Clients(ArTest):
    def assert_seen(self, frames):
        """All of the street's two seconds, or on a machine that is emulated as many as it has time for."""
        if EMULATOR:
            self.assertIn(frames, range(1, 121))
        else:
            self.assertEqual(frames, 120)

    def test_both_kinds_are_served(self):
        server, street = self.serve_ar(command=("serve", "--ar")), self.street()
        own = self.run_client(server, "--video", street)
        self.assert_seen(own["frames"])
        self.assertEqual([task["task"] for task in own["tasks"]], ["depth", "odometry", "boxes"])
        pose = own["pose"]
        self.assertEqual(sum(pose[state + "_frames"] for state in ("initialising", "good", "unreliable")),
                         own["frames"])
        self.assertEqual(len(pose["covariance"]), 36)
        self.assertEqual(pose["why"] == "", pose["state"] == "good")
        def agreed():  # on a machine that is slow enough two seconds are over before the server makes its first plan
            found = self.run_client(server, "--video", street, "--tasks", "depth", "--sla", "10")
            self.assert_seen(found["frames"])
            self.assertEqual(found["server"], server.address)
            return found["offloads"] > 0
        wait_until(agreed, "an offload")
        self.assertEqual(server.stop(), 0)

    def test_a_pose_that_nothing_was_measured_for_says_so(self):
        alone = self.run_client(self.serve_ar(), "--video", self.street(), "--tasks", "depth,odometry", "--policy", "la")
        self.assertEqual(alone["pose"]["state"], "initialising")
        self.assert_seen(alone["pose"]["initialising_frames"])
        self.assertIn("too few measurements", alone["pose"]["why"])

    def test_a_view_of_both_kinds(self):
        server, street, view = self.serve_ar(), self.street(), self.folder / "view.png"
        commands = [("view", "--out", view),
                    ("client", "--server", server.address, "--tasks", "depth", "--sla", "10", "--view", view)]
        for command in commands:
            done = self.client("ar", *command, "--video", street)
            self.assertEqual(done.returncode, 0, done.stderr)
            header = view.read_bytes()[:24]
            self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(struct.unpack(">II", header[16:]), (1280, 624))
            view.unlink()
        video = self.folder / "view.mp4"
        done = self.client("ar", "view", "--video", street, "--tasks", "boxes", "--out", video)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(video.read_bytes()[4:8], b"ftyp")

    def test_more_clients_than_a_server_has_threads_for_are_refused_at_its_start(self):
        for sessions in (1025, 100000):  # its guard would end it among them
            done = self.client("ar", "serve", "--listen", f"unix:{self.folder}/ar", "--max-sessions", sessions)
            self.assertEqual(done.returncode, 2)
            self.assert_one_clear_line(done, f"--max-sessions: Value {sessions} not in range 1 to 1024")

    def test_who_comes_to_the_wrong_server_is_told_the_right_one(self):
        ar, other = self.serve_ar(), self.serve()
        self.assert_one_clear_line(self.client("ar", "client", "--server", other.address, "--synthetic", "L/L:0", "--tasks",
                                               "boxes"), "what answers there is `wharf serve`", "wharf ar serve")
        model = SOURCE / "wharf" / "exec" / "testdata" / "tiny" / "model.onnx"
        for command in (["run", "--server", ar.address, "--", PROGRAMS / "looper", 3],
                        ["split", model, "--server", ar.address, "--random"],
                        ["pipeline", "load", "--server", ar.address, "--rate", 5, "--seconds", 1]):
            done = self.client(*command)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("what answers there is `wharf ar serve`", done.stderr)

    def test_an_accuracy_of_another_task_is_refused_in_one_line(self):
        server = self.serve_ar()
        done = self.client("ar", "client", "--server", server.address, "--tasks", "boxes", "--sla", "0.1")
        self.assert_one_clear_line(done, "another task")
        done = self.client("ar", "client", "--server", server.address, "--tasks", "depth,boxes", "--sla", "0.1")
        self.assert_one_clear_line(done, "one task")

    def test_a_server_that_ends_sends_its_clients_to_the_next(self):
        second = self.serve_ar("second")
        first = self.serve_ar("first", "--next", second.address, "--drain-timeout", f"{PATIENCE}s")
        self.start_client(first, "--synthetic", "L/L:0", "--tasks", "depth", "--sla", "10")
        self.start_client(first, "--synthetic", "L/L:0", "--tasks", "boxes")
        wait_until(lambda: first.said("AR client") >= 2, "both clients are there")
        self.assertEqual(first.stop(), 0)  # when they have left
        wait_until(lambda: second.said("AR client") >= 2, "both clients are at the next server")

    def test_a_server_without_room_sends_a_client_to_the_next(self):
        slow = self.folder / "slow.json"
        slow.write_text(json.dumps({"format": "wharf-latency-profile/1", "network": "depth", "machine": "one that takes minutes",
                                    "batches": [{"batch": 1, "ms": 60000}]}))
        second = self.serve_ar("second")
        first = self.serve_ar("first", "--next", second.address, "--profile", slow)
        self.start_client(first, "--synthetic", "L/L:0", "--tasks", "depth", "--sla", "10")
        wait_until(lambda: second.said("AR client") >= 1, "the client is at the next server")

    def test_token_and_tls_are_as_those_of_wharf_serve(self):
        key, certificate, token = self.folder / "key.pem", self.folder / "cert.pem", self.folder / "token"
        token.write_text("a token for this test\n")
        token.chmod(0o600)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                        "-out", certificate], check=True, capture_output=True)
        server = self.serve_ar("tls", "--token-file", token, "--tls-cert", certificate, "--tls-key", key)
        street = self.street()
        found = self.run_client(server, "--video", street, "--tasks", "boxes", "--token-file", token, "--tls-ca",
                                certificate)
        self.assert_seen(found["frames"])
        done = self.client("ar", "client", "--server", server.address, "--video", street, "--tasks", "boxes", "--tls-ca",
                           certificate)
        self.assert_one_clear_line(done, "token")


class WrongClients(ArTest):
    PICTURES = 12

    def setUp(self):
        super().setUp()
        self.server = self.serve_ar()

    def watched(self):
        """Sends pictures, one after the other; all must be answered with results."""
        with RawClient(self.server).say(hello(DEPTH | BOXES)) as client:
            self.assertEqual(client.read()[0], WELCOME)
            for number in range(self.PICTURES):
                client.say(picture(number, DEPTH | BOXES))
                for _ in range(2):
                    kind, tag, head, _ = client.read()
                    self.assertEqual((kind, tag), (RESULT, number), head)

    @contextlib.contextmanager
    def others_get_everything(self):
        """While the block runs, and afterwards."""
        failures = []
        def watch():
            try:
                self.watched()
            except Exception as failure:  # to be raised in the test's own thread
                failures.append(failure)
        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertEqual(failures, [])
        self.watched()
        self.assertIsNone(self.server.process.poll())

    def test_vanishing(self):
        with self.others_get_everything():
            for said in (b"", hello(DEPTH)[:30], hello(DEPTH), hello(DEPTH, sla=10.0),
                         hello(DEPTH) + picture(0, DEPTH)[:2000], hello(DEPTH) + picture(0, DEPTH)):
                RawClient(self.server).say(said).__exit__()

    def test_flooding(self):
        with self.others_get_everything():
            for sla in (0.0, 10.0):
                with RawClient(self.server).say(hello(DEPTH, sla)) as client:
                    client.say(*(picture(number, DEPTH) for number in range(400)))
                    self.assertEqual(client.read()[0], WELCOME)
                    answered = 0
                    while answered < 400:  # each is, most of them refused
                        answered += client.read()[0] in (RESULT, FAILED)

    def test_lying(self):
        with self.others_get_everything():
            for lies in ((1e308,) * 4, (-1.0,) * 4, (math.nan, math.inf, 0.0, math.nan), (0.9, 0.4, 1.0, 1.0)):
                with RawClient(self.server).say(hello(DEPTH, sla=0.001)) as client:
                    self.assertEqual(client.read()[0], WELCOME)
                    client.say(picture(2**62, DEPTH), frame(REPORT, head=struct.pack("<4d", *lies)),
                               picture(0, DEPTH), picture(-1 & (2**64 - 1), DEPTH))
                    answered = 0
                    while answered < 3:
                        answered += client.read()[0] in (RESULT, FAILED)

    def test_the_server_has_given_up_what_it_does_not_need(self):
        """Every thread's system calls are filtered, also of those that were there before."""
        if SANITIZER:
            self.skipTest("policies are weaker under a sanitizer")
        for task in pathlib.Path(f"/proc/{serving_process(self.server.process.pid)}/task").iterdir():
            try:
                status = (task / "status").read_text()
            except (FileNotFoundError, ProcessLookupError):  # ended since it was listed
                continue
            self.assertRegex(status, r"Seccomp:\s2\n", task)

    def test_a_bug_in_what_reads_a_client(self):
        """Its relay dies; that is the end of one session."""
        with RawClient(self.server).say(hello(DEPTH)) as client:
            self.assertEqual(client.read()[0], WELCOME)
            client.say(picture(0, DEPTH))
            self.assertEqual(client.read()[0], RESULT)
            [starter] = [child for child in children(self.server.process.pid) if b"starter" in command_line(child)]
            for relay in children(starter):  # the only client's
                os.kill(relay, signal.SIGKILL)  # not SIGSEGV, which a sanitizer would report
            with self.others_get_everything():
                self.assertEqual(client.until_closed(), [])

    def test_garbage(self):
        wrong = {
            "no frames": NOISE(4096),
            "no Hello": picture(0, DEPTH),
            "a Hello that is none": frame(HELLO, head=NOISE(60)),
            "a model that is a path": hello(DEPTH | MODEL, models=b"/etc/passwd") + picture(0, DEPTH | MODEL),
            "a model that there is none of": hello(MODEL, models=b"mine") + picture(0, MODEL),
            "a model without a name": hello(DEPTH | MODEL) + picture(0, DEPTH | MODEL),
            "a picture that is none": hello(DEPTH) + picture(0, DEPTH, NOISE(5000)),
            "half a picture": hello(DEPTH) + picture(0, DEPTH, STREET[:len(STREET) // 2]),
            "a damaged picture": hello(DEPTH) + picture(0, DEPTH, STREET[:700] + NOISE(2000) + STREET[2700:]),
            "a picture of another size": hello(DEPTH) + picture(0, DEPTH, resized(STREET, 64, 64)),
            "a picture of vast size": hello(DEPTH) + picture(0, DEPTH, resized(STREET, 65500, 65500)),
            "a picture of too many bytes": hello(DEPTH) + struct.pack("<IHHIIQB", 0x31464857, PICTURE, 0, 1, 5 << 20, 0, DEPTH),
            "a frame of too many bytes": hello(DEPTH) + struct.pack("<IHHIIQ", 0x31464857, PICTURE, 0, 1, 2**32 - 1, 0),
            "an unknown message": hello(DEPTH) + frame(999),
        }
        with self.others_get_everything():
            for what, said in wrong.items():
                with self.subTest(what), RawClient(self.server) as client:
                    with contextlib.suppress(ConnectionError):
                        client.say(said)
                    self.assertNotIn(RESULT, client.until_closed())


def resized(jpeg, width, height):
    """The same, claiming another size."""
    at = jpeg.index(b"\xff\xc0") + 5
    return jpeg[:at] + struct.pack(">HH", height, width) + jpeg[at + 4:]


if __name__ == "__main__":
    unittest.main()
