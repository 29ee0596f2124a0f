"""Servers that serve all their clients in one process, taken over: what is left to whoever executes what it likes there.

A library that is loaded into the server (wharf/server/testing/taken_over.cc) does what the test's connection says:
`wharf pipeline worker`, `wharf pipeline serve` and `wharf ar serve`, with and without name spaces.
"""

import contextlib
import errno
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import unittest

from pipeline_fixture import make_plan, start_etcd
from wharf_fixture import BIN, PATIENCE, SANITIZER, EndToEndTest, end_gently, serving_process, strong_sandbox, wait_until

WHARF = str(BIN / "wharf")
ENDED = "the server was ended"


class Taken:
    """A connection that is the attacker's."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.socket.sendall(b"TAKEN OVER\n")
        self.answers = self.socket.makefile("rb")

    def close(self):
        self.answers.close()
        self.socket.close()

    def attempt(self, attack):
        """The errno, or ENDED."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(attack.encode() + b"\n")
            line = self.answers.readline()
            if line:
                return int(line)
        return ENDED


@unittest.skipIf(SANITIZER, "policies are weaker under a sanitizer")
class TakenOverTest(EndToEndTest):
    CONNECTS = True  # whether it needs to

    def prepare(self):
        raise NotImplementedError

    @classmethod
    def once(cls, make):
        """What `make` makes in a folder that all of the class's tests have: what its servers read and do not change."""
        if "made" not in vars(cls):
            folder = tempfile.TemporaryDirectory()
            cls.addClassCleanup(folder.cleanup)
            cls.made = make(pathlib.Path(folder.name))
        return cls.made

    def command(self, mode):
        raise NotImplementedError

    def serve(self, mode, *options):
        with open(self.folder / "server.log", "w") as log:
            self.server = subprocess.Popen([*map(str, self.command(mode)), *options], stdout=subprocess.PIPE, stderr=log,
                                           text=True, env={**os.environ, "LD_PRELOAD": os.environ["WHARF_TAKEN_OVER"],
                                                           "USERS_SECRET": "4711"})
        self.addCleanup(end_gently, self.server)
        line = self.server.stdout.readline()
        self.assertRegex(line, r" at \S+$", (self.folder / "server.log").read_text())
        self.address = line.split()[-1]

    @staticmethod
    def modes():
        return ["strong", "weak"] if strong_sandbox() else ["weak"]

    def attempt(self, attack):
        taken = Taken(self.address)
        self.addCleanup(taken.close)
        return taken.attempt(attack)

    def refused(self):
        """What the server survives, and what comes of it."""
        victim = os.getpid()
        return {"open": errno.EPERM, "create": errno.EPERM, f"memory-of {victim}": errno.EPERM,
                f"slow {victim}": errno.EPERM, "connect-unix": errno.EPERM, "listen-unix": errno.EPERM,
                "send-by-name": errno.EPERM, "write-and-execute": 0,
                "connect 9": errno.ECONNREFUSED if self.CONNECTS else errno.EPERM}

    def deadly(self):
        victim = os.getpid()
        return [f"kill {victim}", f"tgkill {victim}", f"ptrace {victim}", f"read-memory-of {victim}", f"pidfd {victim}",
                "fork", "execute", "new-names", "share-memory"] + (["listen-tcp"] if self.CONNECTS else [])

    def check_descriptors(self):
        """None is of a file: what it reads it has read."""
        for descriptor in pathlib.Path(f"/proc/{serving_process(self.server.pid)}/fd").iterdir():
            try:
                target = os.readlink(descriptor)
            except FileNotFoundError:  # closed since it was listed: the server goes on meanwhile
                continue
            if int(descriptor.name) > 2:
                self.assertRegex(target, r"^(socket:|pipe:|anon_inode:|/dev/null)")

    def check_alone(self):
        process = pathlib.Path(f"/proc/{serving_process(self.server.pid)}")
        self.assertEqual(list((process / "root/.").iterdir()), [])
        for kind in ("mnt", "pid", "ipc", "uts", "user"):
            self.assertNotEqual(os.readlink(process / "ns" / kind), os.readlink(f"/proc/self/ns/{kind}"), kind)
        self.assertEqual(os.readlink(process / "ns" / "net"), os.readlink("/proc/self/ns/net"))
        self.assertNotIn(b"USERS_SECRET", (process / "environ").read_bytes())

    def test_it_has_nothing_but_the_network(self):
        self.prepare()
        for mode in self.modes():
            with self.subTest(mode):
                self.serve(mode)
                if os.geteuid() == 0:  # nobody else sees it
                    self.check_descriptors()
                    if mode == "strong":
                        self.check_alone()
                taken = Taken(self.address)
                for attack, outcome in self.refused().items():
                    self.assertEqual(taken.attempt(attack), outcome, attack)
                taken.close()
                end_gently(self.server)
        self.assertFalse(pathlib.Path("/tmp/wharf-taken-over").exists())

    def test_what_it_must_never_do_is_its_end(self):
        self.prepare()
        mode = self.modes()[0]
        for attack in self.deadly():
            with self.subTest(attack):
                self.serve(mode)
                self.assertEqual(self.attempt(attack), ENDED)
                self.assertEqual(abs(self.server.wait(PATIENCE)) % 128, signal.SIGSYS)
                wait_until(lambda: not listens(self.address), "nobody serves any more")

    def end_at_once(self):
        """One that has nothing left to end gently with."""
        self.server.kill()
        self.server.wait(PATIENCE)

    def test_it_takes_no_more_than_its_share(self):
        self.prepare()
        for mode in self.modes():
            with self.subTest(mode):
                self.serve(mode)
                self.assertEqual(self.attempt("make-descriptors"), errno.EMFILE)
                self.end_at_once()
                self.serve(mode)
                self.assertEqual(self.attempt("fill-memory"), errno.ENOMEM)
                self.end_at_once()
        if "strong" not in self.modes():
            return
        for attack in ("hide-memory", "make-threads 100000"):
            with self.subTest(attack):
                self.serve("strong")
                outcome = self.attempt(attack)
                if outcome != errno.EAGAIN:  # of users that are not root the kernel permits no more threads
                    self.assertEqual(outcome, ENDED)
                    self.assertIn("uses more than it may", (self.folder / "server.log").read_text())
                self.end_at_once()

    def test_it_need_not_agree_to_its_end(self):
        """What holds its threads has used up what an end in order takes, too."""
        self.prepare()
        for mode in self.modes():
            with self.subTest(mode):
                self.serve(mode, "--end-timeout=1s")
                taken = Taken(self.address)
                self.assertEqual(taken.attempt("make-descriptors"), errno.EMFILE)
                self.server.send_signal(signal.SIGTERM)
                if mode == "weak":  # it has no guard: the second signal is its end, whichever comes first
                    self.server.send_signal(signal.SIGINT)
                    self.assertIn(-self.server.wait(PATIENCE), (signal.SIGTERM, signal.SIGINT))
                else:
                    self.assertEqual(self.server.wait(PATIENCE), 128 + signal.SIGKILL)
                    said = (self.folder / "server.log").read_text().splitlines()
                    self.assertRegex(said[-1], r"^wharf: the server has not ended \d s after it was asked to, and is ended$")
                    wait_until(lambda: not listens(self.address), "nobody serves any more")
                taken.close()

    def test_it_ends_in_order_and_with_its_guard(self):
        self.prepare()
        for mode in self.modes():
            with self.subTest(mode):
                self.serve(mode)
                self.assertEqual(end_gently(self.server), 0)
                self.serve(mode)
                inner = serving_process(self.server.pid)
                self.assertEqual(inner != self.server.pid, mode == "strong")
                self.server.kill()
                self.server.wait()
                wait_until(lambda: not listens(self.address), "nobody serves any more")


def listens(address):
    host, port = address.rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


class PipelineWorker(TakenOverTest):
    def prepare(self):
        self.etcd = start_etcd(self)

    def command(self, mode):
        return [WHARF, "pipeline", "worker", "--etcd", self.etcd, f"--sandbox={mode}", "--memory=1GiB", "--cache-dir", self.folder / "cache"]

    def test_names_are_not_looked_up_for_it(self):
        self.etcd = start_etcd(self)
        done = subprocess.run([*map(str, self.command(self.modes()[0])), "--advertise", "localhost:7090"],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assert_one_clear_line(done, "--advertise localhost:7090", "no number")


class PipelineServe(TakenOverTest):
    def prepare(self):
        self.etcd = start_etcd(self)
        self.plan = self.once(make_plan)

    def command(self, mode):
        return [WHARF, "pipeline", "serve", self.plan, "--profiles", self.plan.parent / "lab", "--etcd", self.etcd,
                "--listen", "127.0.0.1:0", f"--sandbox={mode}", "--memory=1GiB"]


class ArServe(TakenOverTest):
    CONNECTS = False

    def prepare(self):
        self.profile = self.once(self.measure)

    def measure(self, folder):
        done = subprocess.run([WHARF, "ar", "latency", "--network", "depth", "--batches", "1,2", "--json",
                               folder / "profile.json"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder / "profile.json"

    def command(self, mode):
        return [WHARF, "ar", "serve", "--listen", "127.0.0.1:0", f"--sandbox={mode}", "--memory=1GiB", "--profile", self.profile,
                "--largest-batch", "2"]


def load_tests(loader, _, __):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, (PipelineWorker, PipelineServe, ArServe)))


if __name__ == "__main__":
    unittest.main()
