"""Links that drop, stall and stay away, under a program that counts on the device: a launch that was lost or repeated
makes a wrong sum, and the program says so."""

import signal
import unittest

from wharf_fixture import PATIENCE, EndToEndTest, wait_until


class Resume(EndToEndTest):
    def finish(self, program):
        out, err = program.communicate(timeout=PATIENCE)
        self.assertEqual(program.returncode, 0, err)
        self.assertTrue(out.endswith("done\n"), out)
        told = [line for line in err.splitlines() if "wharf:" in line]
        self.assertTrue(told, "nothing was said while the program waited")
        for line in told:
            self.assertRegex(line, r"^wharf: connection to 127\.0\.0\.1:\d+ lost; trying again for 30 s$")

    def test_a_program_outlives_drops(self):
        for mode in ("posted", "percall", "replay"):
            with self.subTest(mode):
                server = self.serve()
                link = self.link(server, "--rtt", "2ms")
                program = self.start_program(link, "looper", 2000, options=["--mode", mode])
                drops = 0
                while drops < 8 and program.poll() is None:
                    drops += 1
                    link.drop()
                    link.restore()
                    wait_until(lambda: program.poll() is not None or server.status().get("resumed", 0) >= drops, "a resume")
                self.finish(program)
                self.assertGreaterEqual(server.status()["resumed"], 3)  # how many depends on who is faster
                self.assertEqual(server.status()["sessions_opened"], 1)

    def test_a_link_that_stalls_is_replaced(self):
        server = self.serve()
        link = self.link(server, "--rtt", "2ms")
        program = self.start_program(link, "looper", 300)
        link.process.send_signal(signal.SIGSTOP)
        wait_until(link.waiting_connections, "the program dials anew")
        link.process.send_signal(signal.SIGCONT)
        self.finish(program)
        self.assertGreaterEqual(server.status()["resumed"], 1)

    def test_a_server_that_resumes_nothing_is_named_in_one_line(self):
        server = self.serve("--resume-timeout", "0s")
        for options, lines in ([], [f"wharf: the server {server.address} does not let sessions resume: if the connection "
                                    "drops, the session is lost"]), (["--resume", "0s"], []):
            done = self.run_program(server, "looper", 3, options=options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([line for line in done.stderr.splitlines() if "wharf:" in line], lines)
        done = self.run_program(self.serve(), "looper", 3)
        self.assertNotIn("wharf:", done.stderr)

    def test_a_link_that_stays_away_is_a_lost_server(self):
        server = self.serve("--resume-timeout", "1s")
        link = self.link(server)
        program = self.start_program(link, "looper", 10**9, options=["--resume", "1s"])
        link.drop()
        _, err = program.communicate(timeout=PATIENCE)
        link.restore()
        self.assertEqual(program.returncode, 3, err)
        told = [line for line in err.splitlines() if line.startswith("wharf: ")]
        self.assertEqual(told[0], f"wharf: connection to {link.address} lost; trying again for 1 s")
        self.assertIn("lost the server", told[1])
        self.assertIn("no way back within 1 s", told[1])
        self.assertEqual(len(told), 2, err)
        wait_until(lambda: server.status().get("sessions") == [], "the session is closed")

    def test_without_resume_a_drop_is_the_end(self):
        server = self.serve("--resume-timeout", "1000s")
        link = self.link(server)
        program = self.start_program(link, "looper", 10**9, options=["--resume", "0"])
        link.drop()
        _, err = program.communicate(timeout=PATIENCE)
        link.restore()
        self.assertEqual(program.returncode, 3, err)
        wait_until(lambda: server.status().get("sessions") == [], "the session is closed")


if __name__ == "__main__":
    unittest.main()
