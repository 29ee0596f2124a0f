"""Ctrl-C: a program that runs for ever leaves its trace and its counters, and ends by the signal."""

import contextlib
import json
import os
import signal
import subprocess
import unittest

from wharf_fixture import CLIENT, EMULATOR, PATIENCE, PROGRAMS, SANITIZER, EndToEndTest, environment, wait_until

ROUNDS = 10**9  # for ever


class Interrupt(EndToEndTest):
    def setUp(self):
        super().setUp()
        # A shell's background jobs ignore SIGINT, and what they start would too; a caught signal is not inherited.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def start(self, *words):
        """`wharf …` in a process group of its own, as a shell starts it; returns once the program printed "ready"."""
        process = subprocess.Popen([*CLIENT, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=environment(self.folder), process_group=0)
        self.addCleanup(self.kill_group, process)
        self.assertIn("ready\n", iter(process.stdout.readline, ""))
        return process

    @staticmethod
    def kill_group(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def interrupt(self, process, number=signal.SIGINT):
        """What the program said on stderr until it ended."""
        os.killpg(process.pid, number)
        return process.communicate(timeout=PATIENCE)[1]

    def run_for_ever(self, server, *options, program=("looper", ROUNDS)):
        name, *arguments = program
        return self.start("run", "--server", server.address, *options, "--", *EMULATOR, PROGRAMS / name, *arguments)

    def test_the_counters_are_written(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number.name):
                server = self.serve()
                file = self.folder / "counters.json"
                err = self.interrupt(process := self.run_for_ever(server, "--stats", file), number)
                self.assertEqual(process.returncode, -number, err)
                self.assertEqual(err, "")
                self.assertGreaterEqual(json.loads(file.read_text())["per_function"]["cudaMemcpy"], 1)
                wait_until(lambda: server.status().get("sessions") == [], "the session is closed")
                file.unlink()

    def test_the_trace_is_written_and_summed_up(self):
        file = self.folder / "trace.json"
        process = self.start("trace", "--server", self.serve().address, "-o", file, "--", *EMULATOR, PROGRAMS / "looper",
                             ROUNDS)
        err = self.interrupt(process)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertIn("cudaMemcpy", {event["name"] for event in json.loads(file.read_text())})
        self.assertIn("operations", err)
        self.assertIn(str(file), err)

    def test_a_kernel_that_never_ends_does_not_keep_the_program(self):
        file = self.folder / "trace.json"
        server = self.serve("--resume-timeout", "1s", "--drain-timeout", "1s")
        process = self.start("trace", "--server", server.address, "-o", file, "--", *EMULATOR, PROGRAMS / "misbehave",
                             "endless")
        err = self.interrupt(process)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)
        self.assertEqual(json.loads(file.read_text())[-1]["name"], "end of trace")

    def test_a_handler_of_the_programs_own_stays(self):
        process = self.run_for_ever(self.serve(), "--stats", self.folder / "counters.json",
                                    program=("interrupted", "own"))
        err = self.interrupt(process)
        self.assertEqual(process.returncode, 5, err)

    @unittest.skipIf("tsan" in (SANITIZER or ""), "ThreadSanitizer holds signals back in a forked child")
    def test_a_forked_child_ends_as_ever_and_its_parent_goes_on(self):
        file = self.folder / "counters.json"
        done = self.run_program(self.serve(), "interrupted", "child", options=["--stats", file])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(file.read_text())["per_function"]["cudaMalloc"], 1)


if __name__ == "__main__":
    unittest.main()
