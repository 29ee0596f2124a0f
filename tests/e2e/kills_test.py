"""Processes killed at random: a program, a session's worker, its compiler, an idle worker, the keeper of files, the
server. Whoever is left goes on, whoever lost the other end says so, and the next program finds a server that serves.

WHARF_KILLS: how many (default 12); WHARF_SEED: of the random numbers.
"""

import contextlib
import os
import pathlib
import random
import signal
import unittest

from wharf_fixture import PATIENCE, EndToEndTest, Server, wait_until

KILLS = int(os.environ.get("WHARF_KILLS", "12"))
SEED = int(os.environ.get("WHARF_SEED", "1"))
FOR_EVER = 10**9  # rounds
PROGRAMS = 3
# A process that gets no turn for seconds must not look like one that is gone: who is gone is seen by its closed socket.
PATIENT = ["--timeout", f"{PATIENCE}s", "--resume", "15s"]


def name_of(pid):
    """What /proc says; "" of a process that is gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


class Kills(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.server = None
        self.programs = []

    def fill_up(self):
        """A server, and as many programs as there are to be, each in a session of its own."""
        if self.server is None:
            # With a cache a kernel is compiled once; without one every session has a compiler.
            cache = self.random.choice(["", self.folder / "cache"])
            self.server = Server(self.folder, "--resume-timeout", "30s", "--cache-dir", cache)
            self.addCleanup(self.server.stop)
        while len(self.programs) < PROGRAMS:
            options = ["--mode", self.random.choice(["posted", "replay"]), *PATIENT]
            self.programs.append(self.start_program(self.server, "looper", FOR_EVER, options=options))
        self.await_sessions(PROGRAMS)

    def sessions(self, waiting=False):
        """Workers whose client is there, or waited for."""
        return [one["pid"] for one in self.server.status().get("sessions", []) if one["waiting"] == waiting]

    def await_sessions(self, count):
        wait_until(lambda: len(self.sessions()) == count, f"{count} programs have their sessions, and nobody else")

    def named(self, name):
        """The server's processes of this name."""
        return [pid for pid in self.server.workers() if name_of(pid) == name]

    def ended(self):
        return [one for one in self.programs if one.poll() is not None]

    def expect_end(self, program):
        """It gets CUDA's error, and says why in words."""
        out, err = program.communicate(timeout=PATIENCE)
        self.assertEqual(program.returncode, 3, out + err)
        self.assertIn("wharf: ", err)
        self.assertIn("cudaErrorUnknown", err)

    def kill_program(self):
        victim = self.programs.pop(self.random.randrange(PROGRAMS))
        victim.kill()
        victim.communicate(timeout=PATIENCE)
        self.await_sessions(PROGRAMS - 1)  # its session waits for it, in vain

    def kill_worker(self):
        os.kill(self.random.choice(self.sessions()), signal.SIGKILL)
        wait_until(self.ended, "its program ends")
        (victim,) = self.ended()
        self.expect_end(victim)
        self.programs.remove(victim)

    def kill_all(self, victims):
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        # Who is given to one that dies at that moment has to come again.
        wait_until(lambda: not set(victims) & set(self.server.workers()), "the server has seen it")

    def kill_idle_worker(self):
        self.kill_all(set(self.named("wharf-worker")) - set(self.sessions()) - set(self.sessions(waiting=True)))

    def kill_compilers(self):
        self.kill_all(self.named("wharf-compiler"))

    def kill_keeper(self):
        self.kill_all(self.named("wharf-keeper"))

    def kill_server(self):
        self.server.process.kill()
        for program in self.programs:
            self.expect_end(program)
        self.server.stop()
        self.server, self.programs = None, []

    def test_the_others_go_on(self):
        kinds = (self.kill_program, self.kill_worker, self.kill_idle_worker, self.kill_compilers, self.kill_keeper,
                 self.kill_server)
        counts = dict.fromkeys((kind.__name__ for kind in kinds), 0)
        for number in range(KILLS):
            with self.subTest(number):
                self.fill_up()
                kill = kinds[number] if number < len(kinds) else self.random.choices(kinds, (10, 10, 10, 5, 5, 1))[0]
                kill()
                counts[kill.__name__] += 1
                self.assertEqual(self.ended(), [], f"{kill.__name__} ended a program that it had not to")
        self.fill_up()
        done = self.run_program(self.server, "looper", 50, options=PATIENT)
        self.assertEqual(done.returncode, 0, done.stderr)
        print(counts)


if __name__ == "__main__":
    unittest.main()
