"""Processes killed at random: a program, a session's worker or compiler, an idle worker, one that waits for its client,
the keeper of files, the server. Whoever is left goes on, whoever lost the other end says so, and the next program finds
a server that serves. Of a split session its process and the next one's: every result is right, and comes.

WHARF_KILLS: how many (default 12); WHARF_SEED: of the random numbers.
"""

import contextlib
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import time
import unittest

from wharf_fixture import BIN, PATIENCE, SOURCE, EndToEndTest, Server, bounded, environment, wait_until

KILLS = int(os.environ.get("WHARF_KILLS", "12"))
SEED = int(os.environ.get("WHARF_SEED", "1"))
MOST_FAILURES = 3
FOR_EVER = 10**9  # rounds
PROGRAMS = 3
# A process that gets no turn for seconds must not look like one that is gone: who is gone is seen by its closed socket.
PATIENT = ["--timeout", f"{PATIENCE}s", "--resume", "15s"]
PATIENT_SERVER = ["--hello-timeout", f"{PATIENCE}s", "--idle-timeout", f"{PATIENCE}s", "--resume-timeout", "30s"]
# How often each is killed, of those that are there; first one of each, in this order.
WEIGHTS = {"compiler": 5, "keeper": 5, "idle worker": 10, "program": 10, "waiting worker": 3, "worker": 10, "server": 1}


def name_of(pid):
    """What /proc says; "" of a process that is gone."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


class Looper:
    """A program that computes for ever, and its session's worker."""

    def __init__(self, process, rounds_file, worker):
        self.process, self.rounds_file, self.worker = process, rounds_file, worker

    def rounds(self):
        return int(self.rounds_file.read_text() or 0)

    def ended(self):
        return self.process.poll() is not None

    def expect_going_on(self):
        """A round begins and ends from now on."""
        wanted = self.rounds() + 2
        wait_until(lambda: self.ended() or self.rounds() >= wanted, f"{self} goes on")
        if self.ended():
            raise AssertionError(f"{self} ended, {self.exit()}")

    def expect_error(self):
        """It gets CUDA's error, and says why in words."""
        words = self.last_words()
        if self.process.returncode != 3 or "wharf: " not in words or "cudaErrorUnknown" not in words:
            raise AssertionError(f"{self} should have said what was lost: {self.exit()}")

    def last_words(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        return out + err

    def exit(self):
        return f"exit code {self.process.returncode}: {self.last_words()}"

    def __str__(self):
        return f"program {self.process.pid} of worker {self.worker}"


class Kills(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.server = None
        self.servers = self.started = 0
        self.programs = []
        self.recoveries = {kind: [] for kind in WEIGHTS}  # seconds

    def sessions(self, *states):
        """Workers whose client is there (False), or waited for (True)."""
        status = wait_until(self.server.status, "the server has a status")
        return {one["pid"] for one in status["sessions"] if one["waiting"] in states}

    def fill_up(self):
        """A server, and as many programs as there are to be, each in a session of its own."""
        if self.server is None:
            # With a cache a kernel is compiled once; without one every session has a compiler, and nobody a keeper.
            cache = self.folder / "cache" if self.servers == 0 or self.random.random() < 0.5 else ""
            self.server = Server(self.folder, *PATIENT_SERVER, "--cache-dir", cache)
            self.addCleanup(self.server.stop)
            self.servers += 1
        while len(self.programs) < PROGRAMS:
            before = self.sessions(False, True)
            self.started += 1
            rounds_file = self.folder / f"rounds.{self.started}"
            options = ["--mode", self.random.choice(["posted", "replay"]), *PATIENT]
            process = self.start_program(self.server, "looper", FOR_EVER, rounds_file, options=options)
            new = self.sessions(False) - before
            self.assertEqual(len(new), 1, "one session more")
            self.programs.append(Looper(process, rounds_file, new.pop()))

    def victims(self, kind):
        def named(name):
            return {pid for pid in self.server.workers() if name_of(pid) == name}

        return sorted({
            "program": lambda: {program.process.pid for program in self.programs},
            "worker": lambda: {program.worker for program in self.programs},
            "waiting worker": lambda: self.sessions(True),
            "idle worker": lambda: named("wharf-worker") - self.sessions(False, True),
            "compiler": lambda: named("wharf-compiler"),
            "keeper": lambda: named("wharf-keeper"),
            "server": lambda: {self.server.process.pid},
        }[kind]())

    def kill(self, number):
        """One process: what it was, and its id."""
        kinds = list(WEIGHTS)
        if number < len(kinds):
            kinds = [kinds[number]]

        def killed():
            there = {kind: victims for kind in kinds if (victims := self.victims(kind))}
            if there:
                (kind,) = self.random.choices(list(there), [WEIGHTS[kind] for kind in there])
                victim = self.random.choice(there[kind])
                with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                    os.kill(victim, signal.SIGKILL)
                    return kind, victim
            return None

        return wait_until(killed, f"there is somebody to kill: {kinds}")

    def expect_recovery(self, kind, victim):
        lost = [one for one in self.programs if kind == "server" or victim in (one.process.pid, one.worker)]
        for program in lost:
            if kind == "program":
                program.last_words()
                wait_until(lambda: program.worker not in self.sessions(False), "its session waits for it, in vain")
            else:
                program.expect_error()
        self.programs = [one for one in self.programs if one not in lost]
        if kind == "server":
            self.server.stop()
            self.server = None
        for program in self.programs:
            program.expect_going_on()
        if not lost:
            self.expect_service()

    def expect_service(self):
        done = self.run_program(self.server, "looper", 3, options=PATIENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def start_over(self):
        """After a failure, with nobody of those before: what they said, and the server's last lines."""
        said = [f"the servers' log ends so:\n{self.server.log_tail()}" if self.server else "there is no server"]
        for program in self.programs:
            program.process.kill()
            said.append(f"{program}, after {program.rounds()} rounds: {program.last_words()}")
        if self.server:
            self.server.process.kill()
            self.server.stop()
        self.server, self.programs = None, []
        return "\n".join(said)

    def test_the_others_go_on(self):
        failures, before = [], "nothing"
        for number in range(KILLS):
            what = "filling up"
            try:
                self.fill_up()
                what = "choosing"
                kind, victim = self.kill(number)
                what, start = f"{kind} {victim}", time.monotonic()
                self.expect_recovery(kind, victim)
                self.recoveries[kind].append(time.monotonic() - start)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                why = f"kill {number} with WHARF_SEED={SEED}: {what}, after {before}: {error}"
                failures.append(f"{why}\n{self.start_over()}")
                print(failures[-1], flush=True)
                if len(failures) == MOST_FAILURES:
                    break
            before = what
        for kind, seconds in self.recoveries.items():
            if seconds:
                print(f"{kind}: {len(seconds)} killed, recovery {statistics.median(seconds):.2f} s in the middle, "
                      f"{max(seconds):.2f} s at most")
        self.assertEqual(len(failures), 0, "see above")
        self.fill_up()
        self.expect_service()
        for program in self.programs:
            program.expect_going_on()

    @unittest.skipUnless((BIN / "wharf-model").exists(), "wharf-model is not installed")
    def test_a_split_session_goes_on(self):
        """Its process is killed, and the idle one that would be its next."""
        server = self.serve(*PATIENT_SERVER, "--cache-dir", self.folder / "cache")
        model = SOURCE / "wharf" / "exec" / "testdata" / "tiny" / "model.onnx"
        client = subprocess.Popen(
            [BIN / "wharf-model", "split", model, "--server", server.address, "--mode", "server-only", "--check",
             "--wait", "--count", "1000000", "--threads", "1", "--cache-dir", "", "--slack", f"{PATIENCE}s"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment(self.folder))
        self.addCleanup(self._end, client)
        with bounded(client):
            said = client.stdout.readline()
            while said and said.strip() != "ready":
                said = client.stdout.readline()
        client.stdin.write("\n")
        client.stdin.flush()

        def computing():
            """Milliseconds, by the process of the session: not while its client is away."""
            sessions = server.status().get("sessions", [])
            return {one["pid"]: one["device_ms"] for one in sessions if one["kind"] == "split" and not one["waiting"]}

        def goes_on(before):
            return client.poll() is not None or any(spent > before.get(pid, 0) for pid, spent in computing().items())

        def victims(kind):
            there = {pid for pid in server.workers() if name_of(pid) == "wharf-model"}
            return there & set(computing()) if kind == "busy" else there - set(computing())

        killed = {"busy": 0, "idle": 0}
        for number in range(max(3, KILLS // 10)):
            spent = computing()
            wait_until(lambda: goes_on(spent), f"the server computes, {killed} killed")
            if client.poll() is not None:
                break
            kind = ("busy", "idle")[number % 2]
            os.kill(wait_until(lambda: victims(kind), f"there is a process: {kind}").pop(), signal.SIGKILL)
            killed[kind] += 1
        spent = computing()
        wait_until(lambda: goes_on(spent), f"the server computes, {killed} killed")
        client.send_signal(signal.SIGINT)  # it says what it has found
        said, _ = client.communicate(timeout=PATIENCE)
        self.assertEqual(client.returncode, 128 + signal.SIGINT, f"{killed} killed: {said}\n{server.log_tail()}")
        self.assertLess(float(re.search(r"largest difference from .*: (\S+)", said)[1]), 1e-4, said)
        print(f"processes of wharf-model: {killed} killed;",
              re.search(r"every one returned its result, .* alone", said)[0])


if __name__ == "__main__":
    unittest.main()
