"""What goes wrong, and what the user then sees: servers and clients that die, kernels that misbehave, wrong options."""

import json
import os
import signal
import socket
import subprocess
import time
import unittest

from wharf_fixture import BIN, PATIENCE, PROGRAMS, SANITIZER, EndToEndTest, children, environment, wait_until

ROUNDS = 10**9  # for ever


class LostServer(EndToEndTest):
    def end_of(self, program):
        """The program's exit, which must come by itself."""
        out, err = program.communicate(timeout=PATIENCE)
        return program.returncode, out, err

    def test_a_killed_worker_gives_the_program_a_cuda_error(self):
        server = self.serve()
        program = self.start_program(server, "looper", ROUNDS)
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        code, _, err = self.end_of(program)
        self.assertEqual(code, 3, err)
        self.assertIn("cudaErrorUnknown", err)

    def test_a_silent_server_gives_the_program_a_cuda_error_within_the_timeout(self):
        server = self.serve()
        timeout = "10s" if SANITIZER else "1s"  # in which a server that is slowed down must greet
        program = self.start_program(server, "looper", ROUNDS, options=["--timeout", timeout, "--resume", timeout])
        stopped = server.workers()
        for worker in stopped:
            os.kill(worker, signal.SIGSTOP)
        try:
            start = time.monotonic()
            code, _, err = self.end_of(program)
            # Not a speed test: the bound is far above the timeout and far below a hang.
            self.assertLess(time.monotonic() - start, 60)
            self.assertEqual(code, 3, err)
            self.assertIn("cudaErrorUnknown", err)
        finally:
            for worker in stopped:
                os.kill(worker, signal.SIGKILL)

    def test_a_server_that_drains_lets_no_program_hang(self):
        server = self.serve("--drain-timeout", "1s")
        program = self.start_program(server, "looper", ROUNDS)
        self.assertEqual(server.stop(), 0)
        code, _, err = self.end_of(program)
        self.assertEqual(code, 3, err)


class LostClient(EndToEndTest):
    def worker_of_the_session(self, server):
        sessions = wait_until(lambda: server.status().get("sessions"), "the session is open")
        return sessions[0]["pid"]

    def kill_and_expect_all_freed(self, server, program):
        worker = self.worker_of_the_session(server)
        for child in children(program.pid):
            os.kill(child, signal.SIGKILL)
        program.kill()
        wait_until(lambda: server.status().get("sessions") == [], "the session is closed")
        wait_until(lambda: worker not in server.workers(), "the client's worker is gone")
        done = self.run_program(server, "looper", 3)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_killed_client_frees_everything(self):
        # A client that was killed looks like one whose link dropped: its session waits for as long.
        server = self.serve("--resume-timeout", "1s")
        self.kill_and_expect_all_freed(server, self.start_program(server, "looper", ROUNDS))

    def test_a_client_killed_in_an_endless_kernel_frees_everything(self):
        server = self.serve("--resume-timeout", "1s")
        self.kill_and_expect_all_freed(server, self.start_program(server, "misbehave", "endless"))


class Misbehaviour(EndToEndTest):
    def report(self, where, what, options=()):
        done = self.run_program(where, "misbehave", what, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)

    def test_kernels_outside_their_allocations_get_cudas_error_and_it_is_sticky(self):
        server = self.serve()
        neighbour = self.start_program(server, "looper", ROUNDS)
        for what in ("overrun", "wild", "null"):
            with self.subTest(what):
                report = self.report(server, what)
                self.assertEqual(report["launch"], "cudaSuccess")
                self.assertEqual(report["cudaDeviceSynchronize"], "cudaErrorIllegalAddress")
                self.assertEqual(report["cudaMalloc again"], "cudaErrorIllegalAddress")
        self.assertIsNone(neighbour.poll(), "a neighbour was hurt")

    def test_trap_and_assert(self):
        server = self.serve()
        self.assertEqual(self.report(server, "trap")["cudaDeviceSynchronize"], "cudaErrorLaunchFailure")
        self.assertEqual(self.report(server, "assert")["cudaDeviceSynchronize"], "cudaErrorAssert")

    @unittest.skipIf("tsan" in (SANITIZER or ""), "ThreadSanitizer interrupts no compiled kernels")
    def test_kernels_without_end_fail_when_their_time_is_up(self):
        limit = ("--kernel-timeout", "500ms")
        server = self.serve(*limit)
        neighbour = self.start_program(server, "looper", ROUNDS)
        for what in ("endless", "waits"):
            for where, options in ((server, ()), (None, limit)):
                with self.subTest(what, where=where):
                    done = self.run_program(where, "misbehave", what, options=options)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("cudaDeviceSynchronize: cudaErrorLaunchTimeout\n"
                                  "cudaMalloc again: cudaErrorLaunchTimeout\n", done.stdout)
                    self.assertRegex(done.stderr, "the device faulted .*still running after 0.5 s, its time limit")
        self.assertIsNone(neighbour.poll(), "a neighbour was hurt")
        self.assert_one_clear_line(self.command("run", "--server", server.address, *limit, "--", "program"),
                                   "--kernel-timeout goes with --local")
        self.assert_one_clear_line(self.command("serve", "--device", "cuda", *limit), "--kernel-timeout is for")

    def test_out_of_quota_is_out_of_memory_and_not_sticky(self):
        server = self.serve("--memory", "256MiB")
        report = self.report(server, "hoard")
        self.assertGreaterEqual(int(report["blocks"]), 2)
        self.assertLess(int(report["blocks"]), 5)
        self.assertEqual(report["cudaMalloc"], "cudaErrorMemoryAllocation")
        self.assertEqual(report["cudaGetLastError"], "cudaErrorMemoryAllocation")
        self.assertEqual(report["cudaFree"], "cudaSuccess")

    def test_managed_memory_that_cannot_be_had_ends_the_program_with_the_reason(self):
        server = self.serve()
        # A sanitizer ends a program by itself whose handler of SIGSEGV is the one that faults: ThreadSanitizer by 66,
        # AddressSanitizer by 1.
        ends = (-signal.SIGSEGV, 128 + signal.SIGSEGV) + ((1, 66) if SANITIZER else ())
        for what, words in (("managed_after_fault", "cudaErrorIllegalAddress"),
                            ("managed_in_host_function", "host function")):
            for where in (None, server):
                with self.subTest(what):
                    done = self.run_program(where, "misbehave", what)
                    self.assertIn(done.returncode, ends, done.stderr)
                    self.assertRegex(done.stderr, f"wharf: .*managed memory.*{words}|wharf: .*{words}.*managed memory")
        self.drop_reports("SEGV on unknown address")  # that is what is tested

    def test_quota_and_fault_are_explained(self):
        full = self.run_program(self.serve("--memory", "256MiB"), "misbehave", "hoard")
        self.assertEqual(full.stderr.count("wharf: out of device memory"), 1, full.stderr)
        self.assertIn("--memory", full.stderr)
        wild = self.run_program(None, "misbehave", "wild")
        self.assertRegex(wild.stderr, "the device faulted .*Write.*not device memory")
        self.assertNotIn("host memory", wild.stderr)
        host = self.run_program(None, "misbehave", "host")
        self.assertRegex(host.stderr, "wharf: kernel .*Write.* was given 0x[0-9a-f]+ .*host memory; .*cudaMallocManaged")


class SelfSigned(EndToEndTest):
    def fingerprint(self, folder):
        shown = subprocess.run(["openssl", "x509", "-in", folder / "server.crt", "-noout", "-fingerprint", "-sha256"],
                               capture_output=True, text=True, check=True, timeout=PATIENCE)
        return shown.stdout.strip().partition("=")[2]  # AB:CD:...

    def test_a_client_trusts_the_fingerprint_and_nothing_else(self):
        folder = self.folder / "tls"
        server = self.serve(f"--tls-self-signed={folder}")
        pin = self.fingerprint(folder)
        done = self.run_program(server, "looper", 1, options=["--tls-pin", pin])
        self.assertEqual(done.returncode, 0, done.stderr)
        other = "sha256:" + "0" * 64
        self.assert_one_clear_line(self.run_program(server, "looper", 1, options=["--tls-pin", other]), "--tls-pin",
                                   pin.replace(":", "").lower())
        self.assert_one_clear_line(self.run_program(server, "looper", 1, options=["--tls-pin", "abc"]), "fingerprint")
        self.assert_one_clear_line(self.run_program(server, "looper", 1, options=["--tls"]), "certificate")
        variables = {"WHARF_SERVER": server.address, "WHARF_TLS": "1", "WHARF_TLS_PIN": pin}
        done = subprocess.run([BIN / "wharf", "run", "--", PROGRAMS / "looper", "1"], capture_output=True, text=True,
                              timeout=PATIENCE, env={**(environment(self.folder) or os.environ), **variables})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(server.stop(), 0)
        self.serve(f"--tls-self-signed={folder}")
        self.assertEqual(self.fingerprint(folder), pin)


class ClearLines(EndToEndTest):
    def test_no_server(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % unused.getsockname()[1]
        done = self.command("run", "--server", address, "--", PROGRAMS / "looper", 1)
        self.assert_one_clear_line(done, address)

    def test_wrong_token(self):
        (self.folder / "right").write_text("0123456789abcdef0123456789abcdef\n")
        (self.folder / "wrong").write_text("fedcba9876543210fedcba9876543210\n")
        server = self.serve("--token-file", self.folder / "right")
        wrong = self.run_program(server, "looper", 1, options=["--token-file", self.folder / "wrong"])
        self.assert_one_clear_line(wrong, "token")
        self.assertNotIn("fedcba98", wrong.stderr)
        right = self.run_program(server, "looper", 1, options=["--token-file", self.folder / "right"])
        self.assertEqual(right.returncode, 0, right.stderr)

    def test_port_in_use(self):
        server = self.serve()
        done = self.command("serve", "--listen", server.address, "--device", "soft")
        self.assert_one_clear_line(done, server.address.rsplit(":", 1)[1])

    def test_open_to_the_world_needs_a_token(self):
        done = self.command("serve", "--listen", "0.0.0.0:0", "--device", "soft")
        self.assert_one_clear_line(done, "token")

    def test_doctor_says_how_kernels_run(self):
        def doctor(program, *options):
            return subprocess.run([BIN / "wharf", "doctor", "--json", "--kernels", program, *options],
                                  capture_output=True, text=True, timeout=PATIENCE)

        kernels = json.loads(doctor(PROGRAMS / "shared_barriers").stdout)
        ways = {kernel["kernel"].split("(")[0]: kernel["runs"] for kernel in kernels}
        self.assertEqual(ways["TreeReduce"], "in vector lanes, from barrier to barrier")
        self.assertEqual(ways["ProducerConsumer"], "on suspendable threads")
        # Linked of two parts.
        linked = {kernel["kernel"].split("(")[0] for kernel in json.loads(doctor(PROGRAMS / "relocatable").stdout)}
        self.assertIn("UseOtherPart", linked)
        for program, options, code, line in [(PROGRAMS / "looper_no_ptx", [], 1, "has no kernels in PTX"),
                                             (__file__, [], 1, "neither a fat binary nor PTX"),
                                             (PROGRAMS / "looper", ["--block", "2048"], 2, "--block: 2048 is not")]:
            ended = doctor(program, *options)
            self.assertEqual(ended.returncode, code, ended.stderr)
            self.assertIn(line, ended.stderr)

    def test_no_ptx_in_the_program(self):
        done = self.run_program(None, "looper_no_ptx", 1)
        self.assert_one_clear_line(done, "compute_75")

    def test_a_file_that_cannot_be_written_is_said_before_the_program_runs(self):
        nowhere = self.folder / "no-such-folder" / "file"
        for words in (["run", "--stats", nowhere], ["trace", "-o", nowhere]):
            done = self.command(*words, "--local", "--", PROGRAMS / "looper", 1)
            self.assert_one_clear_line(done, str(nowhere))
            self.assertEqual(done.stdout, "")
        for option in ("--json", "--plot", "--html"):
            done = self.command("bench", "offload", "--modes", "local", option, nowhere)
            self.assert_one_clear_line(done, str(nowhere))
            self.assertEqual(done.stdout, "")

    def test_tls_where_the_server_has_none(self):
        server = self.serve()
        done = self.run_program(server, "looper", 1, options=["--tls"])
        self.assert_one_clear_line(done, "TLS")

    def test_a_program_that_is_not_there(self):
        done = self.run_program(None, "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assert_one_clear_line(done, "no-such-program")

    def test_a_program_that_is_a_folder(self):
        done = self.command("run", "--local", "--", self.folder)
        self.assertEqual(done.returncode, 126)
        self.assert_one_clear_line(done, str(self.folder), "is a directory")

    def test_source_files_are_no_programs(self):
        for name, way in (("blur.cu", "nvcc"), ("infer.py", "python3")):
            source = self.folder / name
            source.write_text("")
            done = self.command("run", "--local", "--", source)
            self.assertEqual(done.returncode, 126)
            self.assert_one_clear_line(done, name, way)

    def test_a_program_that_cannot_be_measured(self):
        done = self.command("bench", "offload", "--program", "/bin/true", "--device", "soft")
        self.assertEqual(done.returncode, 1)
        self.assertIn('/bin/true with --inferences 1 --json FILE must make one inference and write {"latency_ms": [ms]}',
                      done.stderr)

    def test_a_command_there_is_not(self):
        done = self.command("bogus")
        self.assertEqual(done.returncode, 2)
        self.assert_one_clear_line(done, "bogus", "run, trace, serve")

    def test_a_rate_without_a_unit(self):
        done = self.command("link", "--rate", "93")
        self.assertEqual(done.returncode, 2)
        self.assert_one_clear_line(done, "--rate", "kbit", "mbit", "gbit")

    def test_fewer_than_no_threads(self):
        for words in (["serve"], ["run", "--local"]):
            done = self.command(*words, "--threads", "-1", "--", PROGRAMS / "looper", 1)
            self.assertEqual(done.returncode, 2)
            self.assert_one_clear_line(done, "--threads", "-1")

    def test_the_programs_exit_code_is_passed_on(self):
        done = self.command("run", "--local", "--", "/bin/sh", "-c", "exit 42")
        self.assertEqual(done.returncode, 42)


if __name__ == "__main__":
    unittest.main()
