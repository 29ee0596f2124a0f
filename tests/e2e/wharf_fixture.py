"""What end-to-end tests speak: a server, a program run through it, and the counters it leaves.

WHARF_BIN and WHARF_PROGRAMS (folders) come from ctest. In builds for devices, which have no server, also WHARF_CLIENT, the
words that begin the `wharf` that runs programs, and WHARF_EMULATOR, those that begin programs that are another
processor's. In sanitizer builds WHARF_SANITIZER, the runtime that has to be loaded before the drop-in libraries: whatever
it reports about any process fails the test. Everything is on loopback or a Unix socket and bounded in time.
"""

import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

BIN = pathlib.Path(os.environ["WHARF_BIN"])
PROGRAMS = pathlib.Path(os.environ["WHARF_PROGRAMS"])
EMULATOR = shlex.split(os.environ.get("WHARF_EMULATOR", ""))
CLIENT = shlex.split(os.environ.get("WHARF_CLIENT", "")) or [BIN / "wharf"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SANITIZER = os.environ.get("WHARF_SANITIZER")
# Seconds: an upper bound for a hang, never something a test waits for.
PATIENCE = 480 if SANITIZER or EMULATOR else 120


def environment(folder):
    """Of every process: where a sanitizer writes its reports."""
    if not SANITIZER:
        return None
    reports = f"log_path={folder}/sanitizer_report"
    suppressions = SOURCE / "cmake" / "tsan_suppressions.txt"
    return {**os.environ, "LD_PRELOAD": SANITIZER,
            # LeakSanitizer wants ptrace, which a sandboxed worker does not have.
            "ASAN_OPTIONS": f"{reports}:verify_asan_link_order=0:detect_leaks=0",
            # The drop-in libraries close their session when the program ends, and leave its threads to the system.
            "TSAN_OPTIONS": f"{reports}:report_thread_leaks=0:suppressions={suppressions}"}


# Of scripts: a shell does not stand the sanitizer's library in it that tests preload.
SHELL = "#!/usr/bin/env -S -u LD_PRELOAD sh"


def wait_until(condition, what, patience=PATIENCE):
    """Polls `condition` until it holds; fails the test if it never does."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"never happened: {what}")


def free_port(address):
    """Nobody listens there now, nor is likely to soon: below those the kernel gives to whoever asks for any."""
    while True:
        port = random.randrange(10000, 30000)
        with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
            probe.bind((address, port))
            return port


@contextlib.contextmanager
def bounded(process):
    """Whoever reads what `process` says sees its end rather than wait for ever."""
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end_gently(process):
    """Asks a server to end; its exit status."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout:
        process.stdout.close()
    return process.returncode


def children(pid):
    """Process ids of the living (not zombie) children of `pid`."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def command_line(pid):
    """The words; none if it is gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def serving_process(pid):
    """Of a server of one process: itself, or what its guard has started, with the same command line."""
    return next((child for child in children(pid) if command_line(child) == command_line(pid)), pid)


@functools.cache
def strong_sandbox():
    """Whether this machine permits it: a container may have no name spaces."""
    return subprocess.run([BIN / "wharf", "doctor", "--sandbox"], stdout=subprocess.DEVNULL).returncode == 0


def sandbox():
    """As strong as this machine permits."""
    return f"--sandbox={'strong' if strong_sandbox() else 'weak'}"


class Server:
    """`wharf serve` on a free loopback port; its counters through the status file. Those of one folder have one log."""

    def __init__(self, folder, *options, listen="127.0.0.1:0"):
        self.status_file = pathlib.Path(folder) / "status.json"
        self.log_file = pathlib.Path(folder) / "serve.log"
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [BIN / "wharf", "serve", "--listen", listen, "--device", "soft", sandbox(), "--status-file",
                 self.status_file, *options],
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment(folder))
        with bounded(self.process):
            line = self.process.stdout.readline()
        match = re.search(r" on (\S+)$", line.strip())
        if not match:
            raise AssertionError(f"the server did not start: {line!r}\n{self.log_tail()}")
        self.address = match.group(1)

    def log_tail(self, lines=30):
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def status(self):
        try:
            return json.loads(self.status_file.read_text())
        except (OSError, json.JSONDecodeError):
            return {}

    def workers(self):
        return children(self.process.pid)

    def stop(self):
        return end_gently(self.process)


class Link:
    """`wharf link` in front of a server; dropping it breaks every connection through it."""

    def __init__(self, folder, target, *options, program=(BIN / "wharf",)):
        self.folder, self.target, self.options, self.program = folder, target, options, program
        self.address = "127.0.0.1:0"
        self.process = None
        self.restore()

    def restore(self):
        self.process = subprocess.Popen(
            [*self.program, "link", "--listen", self.address, "--target", self.target, *self.options],
            stdout=subprocess.PIPE, text=True, env=environment(self.folder))
        line = self.process.stdout.readline()
        self.address = re.search(r" from (\S+) to ", line).group(1)

    def drop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def waiting_connections(self):
        """Connections the kernel took and a stopped link did not."""
        port = int(self.address.rsplit(":", 1)[1])
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                return int(fields[4].rsplit(":", 1)[1], 16)
        return 0


class EndToEndTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(self.check_sanitizer)  # after all processes have ended

    def check_sanitizer(self):
        for report in self.folder.glob("sanitizer_report.*"):
            self.fail(report.read_text())

    def drop_reports(self, words):
        """Those of a sanitizer that have these words: of what a test has had happen."""
        for report in self.folder.glob("sanitizer_report.*"):
            if words in report.read_text():
                report.unlink()

    def use_python_package(self, cache):
        """This process imports `wharf`: what it starts writes sanitizers' reports here and what it measures to `cache`."""
        reports = environment(self.folder) or {}
        reports.pop("LD_PRELOAD", None)
        programs = {"WHARF_BIN": str(pathlib.Path(CLIENT[-1]).parent)}
        variables = mock.patch.dict(os.environ, {**reports, **programs, "XDG_CACHE_HOME": str(cache)})
        variables.start()
        self.addCleanup(variables.stop)

    def serve(self, *options, **named):
        server = Server(self.folder, *options, **named)
        self.addCleanup(server.stop)
        return server

    def link(self, server, *options, rate="1gbit"):
        link = Link(self.folder, server.address, "--rate", rate, *options)
        self.addCleanup(link.drop)
        return link

    def command(self, *words, program=(BIN / "wharf",)):
        return subprocess.run([*program, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                              env=environment(self.folder))

    def client(self, *words):
        """What `wharf` says to them on the device."""
        return self.command(*words, program=CLIENT)

    def run_program(self, where, name, *arguments, options=(), patience=PATIENCE):
        """`wharf run` to its end; `where` is a Server or None for --local, which builds for devices do not have."""
        if where is None and "WHARF_CLIENT" in os.environ:
            self.skipTest("there is no software device in this build")
        target = ["--local"] if where is None else ["--server", where.address]
        return subprocess.run(
            [*CLIENT, "run", *target, *map(str, options), "--", *EMULATOR, PROGRAMS / name, *map(str, arguments)],
            capture_output=True, text=True, timeout=patience, env=environment(self.folder))

    def start_program(self, server, name, *arguments, options=()):
        """Starts it and waits until it has printed "ready"."""
        process = subprocess.Popen(
            [*CLIENT, "run", "--server", server.address, *map(str, options), "--", *EMULATOR, PROGRAMS / name,
             *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(self.folder))
        self.addCleanup(self._end, process)
        with bounded(process):
            line = process.stdout.readline().strip()
            while line and line != "ready":
                line = process.stdout.readline().strip()
        if line != "ready":
            raise AssertionError(f"{name} did not start: {process.stderr.read()}")
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def stats(self, where, name, *arguments, mode="posted"):
        file = self.folder / "stats.json"
        file.unlink(missing_ok=True)
        done = self.run_program(where, name, *arguments, options=["--mode", mode, "--stats", file])
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(file.read_text())

    def assert_one_clear_line(self, done, *needles, program="wharf"):
        """It failed, and said so in one line of its own that contains every needle."""
        self.assertNotEqual(done.returncode, 0)
        lines = [line for line in done.stderr.splitlines() if line.startswith(f"{program}: ")]
        self.assertEqual(len(lines), 1, done.stderr)
        for needle in needles:
            self.assertIn(needle, lines[0])
