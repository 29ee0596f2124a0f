"""A build for devices (make arm64, debian11, debian11-arm64) beside the whole build whose server it uses: what its
programs cost, how their sessions end, how large it is, which systems it is for. What programs compute there is the
business of tests/cuda."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from device_files import GLIBC, MOST_OF_A_DEVICE, elf, glibc, install, is_program, libraries, megabytes, needed
from wharf_fixture import CLIENT, EMULATOR, PATIENCE, PROGRAMS, SOURCE, EndToEndTest, Link, wait_until

BUILD = PROGRAMS.parent
SERVER_PROGRAMS = pathlib.Path(os.environ["WHARF_SERVER_PROGRAMS"])
SYSROOT = pathlib.Path(os.environ["WHARF_SYSROOT"])
PROCESSOR = "AArch64" if EMULATOR else "Advanced Micro Devices X86-64"
# What is built for old systems, all of whose libraries are linked in, runs with this glibc.
OLDEST = (2, 31) if (SYSROOT / ".made").exists() else None
MODES = ("percall", "cached", "posted", "replay")
SCENE = SOURCE / "examples" / "cuda_pose" / "scene.png"
COUNTED = ("looper", 30), ("cuda_pose", "--image", SCENE, "--inferences", 2)
# What a mode has decided before anything is sent. Which answers come before they are asked for, in replay, is chance.
COSTS = ("calls", "local_calls", "posted_calls", "blocking_calls", "per_function", "posted_operations")


def awaited(stats):
    """Answers that the program has asked for. How many waits for nothing but completion are answered on this side, and
    how many round trips are left, is chance: a slow program has fewer under way."""
    return sum(wait["round_trips"] for wait in stats["waits"].values()) + stats["replay"]["elided"]


class DeviceTest(EndToEndTest):
    def stats_here(self, server, name, *arguments, mode):
        """Of the same program as this machine has it."""
        file = self.folder / "here.json"
        done = self.command("run", "--server", server.address, "--mode", mode, "--stats", file, "--",
                            SERVER_PROGRAMS / name, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(file.read_text())

    def test_programs_cost_what_they_cost_here(self):
        server = self.serve()
        for program in COUNTED:
            for mode in MODES:
                with self.subTest(program=program[0], mode=mode):
                    here, there = self.stats_here(server, *program, mode=mode), self.stats(server, *program, mode=mode)
                    self.assertEqual([there[key] for key in COSTS], [here[key] for key in COSTS])
                    if mode == "replay":
                        self.assertEqual(there["replay"]["sequence_length"], here["replay"]["sequence_length"])
                    else:
                        self.assertEqual(awaited(there), awaited(here))

    def test_sessions_end_by_the_programs_goodbye(self):
        server = self.serve()
        for mode in MODES:
            for name, *arguments in (("looper", 30), ("driver_versions",), ("no_kernels",), ("multi_thread",)):
                done = self.run_program(server, name, *arguments, options=["--mode", mode])
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        wait_until(lambda: server.status().get("sessions") == [], "all sessions are closed")
        why = re.findall(r"session closed .* why=(.*) operations=", server.log_file.read_text())
        self.assertEqual(why, ["closed"] * 4 * len(MODES))

    def installed(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        return install(BUILD, root.name)

    def test_no_file_needs_a_newer_glibc_than_it_is_built_for(self):
        newest = glibc(next(SYSROOT.glob("lib/*/libc.so.6")))
        programs = list(filter(is_program, self.installed()))
        files = {file.name: glibc(file) for file in programs}
        print("newest glibc that is needed: " + ", ".join(f"{name} {a}.{b}" for name, (a, b) in sorted(files.items())))
        self.assertLessEqual(max(files.values()), newest)
        if OLDEST:
            self.assertLessEqual(newest, OLDEST)
            others = set().union(*map(needed, programs)) - files.keys()
            self.assertEqual({name for name in others if not GLIBC.fullmatch(name)}, set())

    def test_what_a_device_needs_is_small_and_of_its_processor(self):
        files = self.installed()
        programs = list(filter(is_program, files))
        names = {file.name for file in programs}
        self.assertLessEqual({"wharf", "libwharf_client.so", "libcuda.so.1", "libcudart.so.12", "libcudart.so.13"}, names)
        ours, theirs = megabytes(files), megabytes(libraries(programs, SYSROOT))
        print(f"a device's files: {ours:.1f} MB, and libraries of {theirs:.1f} MB")
        self.assertLess(ours + theirs, MOST_OF_A_DEVICE)
        self.assertEqual({re.search(r"Machine: *(.*)", elf(file, "--file-header")).group(1) for file in programs},
                         {PROCESSOR})

    @unittest.skipUnless(EMULATOR, "the kernel's are of one size")
    def test_pages_may_be_larger(self):
        server = self.serve()
        small = self.run_program(server, "managed_memory")
        self.assertEqual(small.returncode, 0, small.stdout + small.stderr)
        # As systems for ARM64 have them. Newer qemus know this machine's size only, the release's, which is slow, others;
        # it may have to run in another root.
        emulator = [shutil.copy(shutil.which("qemu-aarch64-static"), self.folder), *EMULATOR[1:]]
        for size in (16384, 65536):
            done = self.client("run", "--server", server.address, "--", *emulator, "-p", size, PROGRAMS / "managed_memory")
            self.assertEqual((done.returncode, done.stdout), (0, small.stdout), done.stderr)

    def test_a_program_that_no_server_can_run_is_refused_before_it_starts(self):
        done = self.client("run", "--server", self.serve().address, "--", PROGRAMS / "looper_no_ptx", 3)
        self.assert_one_clear_line(done, "looper_no_ptx", "PTX")

    def test_tokens_and_tls(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        tls = self.folder / "tls"
        server = self.serve("--token-file", token, f"--tls-self-signed={tls}")
        pin = re.search(r"Fingerprint=(.*)", self.run_here(
            "openssl", "x509", "-in", tls / "server.crt", "-noout", "-fingerprint", "-sha256")).group(1)
        done = self.run_program(server, "looper", 30, options=["--token-file", token, "--tls-pin", pin])
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program(server, "looper", 30, options=["--tls-pin", pin])
        self.assert_one_clear_line(done, "token")

    def run_here(self, *words):
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_devices_own_link_stands_between(self):
        server = self.serve()
        link = Link(self.folder, server.address, "--rate", "100mbit", program=CLIENT)
        self.addCleanup(link.drop)
        done = self.run_program(link, "looper", 30)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_trace_is_written(self):
        file = self.folder / "trace.json"
        done = self.client("trace", "--server", self.serve().address, "-o", file, "--", *EMULATOR, PROGRAMS / "looper", 30)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(file.read_text())
        self.assertEqual(events[0]["args"]["name"], "looper")
        self.assertIn("cudaMemcpy", {event["name"] for event in events})

    def test_the_doctor_says_what_a_device_has(self):
        said = self.client("doctor").stdout
        self.assertRegex(said, r"good +drop-in CUDA libraries: .*libcuda\.so\.1.*libcudart\.so\.12 libcudart\.so\.13")
        self.assertRegex(said, r"note +devices: no wharf-worker: this machine can use servers")
        self.assertEqual(self.client("--version").stdout, self.command("--version").stdout)


if __name__ == "__main__":
    unittest.main()
