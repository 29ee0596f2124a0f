"""A link that breaks at random, at any byte, also within handshakes and while a session resumes, under programs that count
on the device: nothing is lost, nothing is wrong, no program ends.

WHARF_CUTS: how many breaks (default 150); WHARF_SEED: of the random numbers.
"""

import os
import random
import select
import socket
import struct
import threading
import unittest

from wharf_fixture import PATIENCE, EndToEndTest

CUTS = int(os.environ.get("WHARF_CUTS", "150"))
SEED = int(os.environ.get("WHARF_SEED", "1"))
PROGRAMS = 3  # at a time
ROUNDS = 400


class BreakingLink:
    """Passes bytes on between clients and a server until it breaks: each connection after so many bytes, in one of
    several ways."""

    def __init__(self, target, seed):
        self.target = target
        self.random = random.Random(seed)
        self.cuts = {"reset": 0, "end": 0, "stall": 0}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.connections = []
        self.accepting = threading.Thread(target=self.accept)
        self.accepting.start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.accepting.join()
        for thread in self.connections:
            thread.join()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            early = self.random.random() < 0.3  # in the middle of a handshake
            limit = self.random.randrange(0, 300) if early else self.random.randrange(300, 30000)
            how = self.random.choices(("reset", "end", "stall"), (10, 10, 0.2))[0]
            thread = threading.Thread(target=self.carry, args=(client, limit, how))
            thread.start()
            self.connections.append(thread)

    def carry(self, client, limit, how):
        """Exactly `limit` bytes, of both directions together."""
        host, port = self.target.rsplit(":", 1)
        with client, socket.create_connection((host, int(port))) as server:
            while limit > 0:
                ready, _, _ = select.select([client, server], [], [], PATIENCE)
                if not ready:
                    return
                for end in ready:
                    try:
                        data = end.recv(min(limit, 65536)) if limit > 0 else b"-"
                        if not data:
                            return  # it closed: no cut of ours
                        if limit > 0:
                            (server if end is client else client).sendall(data)
                            limit -= len(data)
                    except OSError:
                        return
            self.cuts[how] += 1
            if how == "stall":  # until somebody loses patience
                select.select([], [], [], 4)
            if how == "reset":
                for end in (client, server):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def total(self):
        return sum(self.cuts.values())


class Cuts(EndToEndTest):
    def setUp(self):
        super().setUp()
        # A machine that is busy may keep either end silent for long, and that is not what is tested.
        self.server = self.serve("--resume-timeout", f"{PATIENCE}s")
        self.link = BreakingLink(self.server.address, SEED)
        self.addCleanup(self.link.close)
        self.failures = []
        self.finished = 0
        self.not_started = 0

    def run_programs(self, mode):
        while self.link.total() < CUTS and not self.failures:
            options = ["--mode", mode, "--timeout", f"{PATIENCE}s", "--resume", f"{PATIENCE}s"]
            done = self.run_program(self.link, "looper", ROUNDS, options=options, patience=10 * PATIENCE)
            if done.returncode == 0 and done.stdout.endswith("done\n"):
                self.finished += 1
            elif "ready" not in done.stdout and "wharf: " in done.stderr:
                self.not_started += 1  # the first connection broke before there was a session, and it said so
            else:
                self.failures.append(f"{mode}: exit code {done.returncode}\n{done.stdout}{done.stderr}")

    def test_programs_outlive_every_break(self):
        modes = ("posted", "replay", "percall")
        threads = [threading.Thread(target=self.run_programs, args=(modes[i % len(modes)],)) for i in range(PROGRAMS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{self.link.cuts}, {self.finished} programs ran to their end, {self.not_started} did not start, "
              f"{self.server.status().get('resumed')} connections resumed")
        self.assertEqual(self.failures, [])
        self.assertGreater(self.finished, 0)


if __name__ == "__main__":
    unittest.main()
