"""`wharf serve` started with a listening socket, as systemd's socket units do: LISTEN_PID, LISTEN_FDS, descriptor 3."""

import json
import re
import socket
import subprocess
import sys
import unittest

from wharf_fixture import BIN, PATIENCE, PROGRAMS, EndToEndTest, bounded, end_gently, environment, sandbox

# Becomes the program in its further arguments, which finds the socket of the first at 3. A sanitizer's environment is
# for the program only.
STARTER = """
import json, os, sys
descriptor, pid, count, variables, program = int(sys.argv[1]), *sys.argv[2:5], sys.argv[5:]
os.dup2(descriptor, 3)
variables = {**os.environ, **json.loads(variables), "LISTEN_PID": pid or str(os.getpid()), "LISTEN_FDS": count}
os.execve(program[0], program, variables)
"""


class PassedSocketTest(EndToEndTest):
    def listening(self, host="127.0.0.1"):
        passed = socket.create_server((host, 0))
        self.addCleanup(passed.close)
        return passed

    def start(self, passed, *options, pid="", count=1):
        with (self.folder / "serve.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", STARTER, str(passed.fileno()), str(pid), str(count),
                 json.dumps(environment(self.folder) or {}), BIN / "wharf", "serve", "--device", "soft", sandbox(),
                 *options],
                stdout=subprocess.PIPE, stderr=log, text=True, pass_fds=[passed.fileno()])
        self.addCleanup(end_gently, process)
        return process

    def address(self, process):
        """What the server says; "" if it does not start."""
        with bounded(process):
            found = re.search(r" on (\S+)$", process.stdout.readline())
        return found.group(1) if found else ""

    def assert_refused(self, process, *needles):
        self.assertEqual(self.address(process), "")
        code = process.wait(PATIENCE)
        self.assert_one_clear_line(
            subprocess.CompletedProcess(process.args, code, "", (self.folder / "serve.log").read_text()), *needles)

    def test_it_serves_there_whatever_it_was_told_to_listen_on(self):
        passed = self.listening()
        where = "127.0.0.1:%d" % passed.getsockname()[1]
        server = self.start(passed, "--listen", "nobody.invalid:1")
        self.assertEqual(self.address(server), where)
        done = self.command("run", "--server", where, "--", PROGRAMS / "looper", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(end_gently(server), 0)
        with socket.create_connection(passed.getsockname(), PATIENCE):  # for who serves next
            pass
        self.assertEqual(self.address(self.start(passed)), where)

    def test_a_unix_socket_stays_when_the_server_ends(self):
        path = self.folder / "socket"
        passed = socket.create_server(str(path), family=socket.AF_UNIX)
        self.addCleanup(passed.close)
        server = self.start(passed)
        self.assertEqual(self.address(server), f"unix:{path}")
        self.assertEqual(end_gently(server), 0)
        self.assertTrue(path.is_socket())

    def test_one_that_others_can_reach_needs_a_token(self):
        self.assert_refused(self.start(self.listening("0.0.0.0"), "--listen", "127.0.0.1:0"), "--token-file")
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        served = self.start(self.listening("0.0.0.0"), "--token-file", str(token))
        self.assertRegex(self.address(served), r"^0\.0\.0\.0:\d+$")

    def test_what_is_for_another_process_is_not_taken(self):
        passed = self.listening()
        address = self.address(self.start(passed, "--listen", "127.0.0.1:0", pid=1))
        self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
        self.assertNotEqual(address, "127.0.0.1:%d" % passed.getsockname()[1])

    def test_several_sockets_and_one_that_does_not_listen_are_refused(self):
        self.assert_refused(self.start(self.listening(), count=2), "2 sockets were passed")
        idle = socket.socket()
        self.addCleanup(idle.close)
        self.assert_refused(self.start(idle), "no socket that listens")


if __name__ == "__main__":
    unittest.main()
