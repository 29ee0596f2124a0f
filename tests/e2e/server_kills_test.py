"""Processes of servers of one process killed at random, as e2e.kills_test does with those of `wharf serve`: of a
pipeline, and of `wharf ar serve`. Whoever is left goes on, who was killed is started again by whoever has started it,
and then everything is as before: what is lost meanwhile, docs/troubleshooting.md has as a table.

WHARF_KILLS: how many of each; as it is, each kind once as far as half a minute goes. WHARF_SEED: of the random numbers.
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import time
import unittest

from ar_peer import DEPTH, GOODBYE, RESULT, WELCOME, RawClient, hello, picture
from ar_server import ArServer
from pipeline_fixture import ETCD, make_plan
from wharf_fixture import (BIN, PATIENCE, EndToEndTest, bounded, children, command_line, end_gently, environment, free_port,
                           sandbox, serving_process, strong_sandbox, wait_until)

KILLS = int(os.environ.get("WHARF_KILLS", "0"))
SEED = int(os.environ.get("WHARF_SEED", "1"))
MOST_SECONDS = 15  # of a class, unless it was said how many are to be killed
LEASE = 10  # seconds: more than a busy machine keeps a worker from renewing it


def alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


def await_gone(*pids):
    wait_until(lambda: not any(map(alive, pids)), f"the processes {pids} are gone")


class Killing(EndToEndTest):
    """`kinds`: each kills one process of a kind, and returns when all is as before."""

    def kill_at_random(self, kinds):
        numbers, recoveries, start = random.Random(SEED), {kind: [] for kind in kinds}, time.monotonic()
        for number in range(KILLS or len(kinds)):
            if not KILLS and time.monotonic() - start > MOST_SECONDS:
                break
            kind = list(kinds)[number] if number < len(kinds) else numbers.choice(list(kinds))
            with self.subTest(kind, number=number, seed=SEED):
                begin = time.monotonic()
                kinds[kind]()
                recoveries[kind].append(time.monotonic() - begin)
                print(f"{number + 1}: {kind}, {recoveries[kind][-1]:.1f} s", flush=True)
        for kind, seconds in recoveries.items():
            if seconds:
                print(f"{kind}: {len(seconds)} killed, all as before after {statistics.median(seconds):.1f} s in the "
                      f"middle, {max(seconds):.1f} s at most", flush=True)


@unittest.skipUnless(os.access(ETCD, os.X_OK), "etcd is not installed (Debian's etcd-server)")
class PipelineKills(Killing):
    def setUp(self):
        super().setUp()
        self.processes, self.loads = {}, 0
        self.plan = make_plan(self.folder)
        port, peer = free_port("127.0.0.1"), free_port("127.0.0.1")
        self.etcd, self.etcd_peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
        self.addCleanup(lambda: [end_gently(process) for process in self.processes.values()])
        self.start_etcd()
        for name in ("one", "other"):
            self.start_worker(name)
        self.start_scheduler()
        self.await_service()

    def start(self, name, *command):
        """Until it has said where it is."""
        with open(self.folder / f"{name}.log", "a") as log:
            process = subprocess.Popen(
                [*map(str, (BIN / "wharf", "pipeline", *command, "--etcd", self.etcd, "--listen", "127.0.0.1:0", sandbox()))],
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment(self.folder))
        with bounded(process):
            line = process.stdout.readline()
        if " at " not in line:
            process.kill()
            process.wait()
            process.stdout.close()
            return None
        self.processes[name] = process
        return line.split()[-1]

    def start_etcd(self):
        with open(self.folder / "etcd.log", "a") as log:
            self.processes["etcd"] = subprocess.Popen(
                [ETCD, "--data-dir", self.folder / "etcd", "--listen-client-urls", self.etcd, "--advertise-client-urls",
                 self.etcd, "--listen-peer-urls", self.etcd_peer, "--initial-advertise-peer-urls", self.etcd_peer,
                 "--initial-cluster", f"default={self.etcd_peer}"], stdout=log, stderr=log)

    def start_worker(self, name):
        def started():  # etcd may not be there yet
            return self.start(name, "worker", "--name", name, "--class", "fast=threads:1", "--lease", LEASE, "--cache-dir",
                              self.folder / name)
        wait_until(started, f"the worker {name} registers")

    def start_scheduler(self):
        self.address = wait_until(lambda: self.start("scheduler", "serve", self.plan, "--profiles", self.folder / "lab"),
                                  "the scheduler listens")

    def load(self, seconds=0.5):
        self.loads += 1
        counts = self.folder / f"load{self.loads}.json"
        process = subprocess.Popen(
            [*map(str, (BIN / "wharf", "pipeline", "load", "--server", self.address, "--rate", 10, "--seconds", seconds,
                        "--json", counts))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=environment(self.folder))
        return process, counts

    def answers(self, load):
        """Of every request, how it ended: none goes without."""
        process, counts = load
        _, error = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, error)
        counts = json.loads(counts.read_text())
        self.assertEqual(counts["unanswered"], 0, counts)
        return counts

    def await_service(self):
        wait_until(lambda: self.answers(self.load())["on time"] > 0, "requests are answered in time")

    def kill(self, name, pid):
        """One process of a server, with which the others of it end."""
        process = self.processes.pop(name)
        inner = serving_process(process.pid)
        os.kill(pid(process.pid), signal.SIGKILL)
        self.assertNotEqual(process.wait(PATIENCE), 0)
        process.stdout.close()
        await_gone(inner)

    def kill_worker(self, pid):
        load = self.load()
        self.kill("one", pid)
        self.answers(load)
        self.start_worker("one")
        self.await_service()

    def kill_scheduler(self, pid):
        process, _ = self.load()
        self.kill("scheduler", pid)
        process.communicate(timeout=PATIENCE)
        self.start_scheduler()
        self.await_service()

    def kill_keeper(self):
        def keepers():
            return [pid for pid in children(self.processes["one"].pid)
                    if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "wharf-keeper"]
        [keeper] = wait_until(keepers, "there is a keeper")
        load = self.load()
        os.kill(keeper, signal.SIGKILL)
        self.answers(load)
        if strong_sandbox():  # without a guard there is nobody to start another
            wait_until(lambda: [pid for pid in keepers() if pid != keeper], "another begins")
        self.await_service()

    def kill_etcd(self):
        etcd = self.processes.pop("etcd")
        etcd.kill()
        etcd.wait()
        self.await_service()  # without it, too
        self.start_etcd()
        self.await_service()

    def kill_client(self):
        process, _ = self.load(seconds=PATIENCE)
        load = self.load()
        process.kill()
        process.communicate()
        self.answers(load)

    def test_the_others_go_on(self):
        self.kill_at_random({
            "worker": lambda: self.kill_worker(serving_process),
            "scheduler": lambda: self.kill_scheduler(serving_process),
            "etcd": self.kill_etcd,
            "worker's guard": lambda: self.kill_worker(lambda guard: guard),
            "client": self.kill_client,
            "scheduler's guard": lambda: self.kill_scheduler(lambda guard: guard),
            "keeper of models": self.kill_keeper,
        })


class ArKills(Killing):
    def setUp(self):
        super().setUp()
        self.profile = self.folder / "profile.json"  # so that nothing is measured
        self.profile.write_text(json.dumps({
            "format": "wharf-latency-profile/1", "network": "depth", "machine": "a test's",
            "batches": [{"batch": 1, "ms": 20}, {"batch": 2, "ms": 30}]}))
        self.clients, self.pictures = [], 0
        self.addCleanup(lambda: [client.__exit__() for client in self.clients])
        self.start_server()

    def start_server(self):
        self.server = ArServer(self.folder, "server", "--profile", self.profile)
        self.addCleanup(self.server.stop)
        for client in self.clients:
            client.__exit__()
        self.clients = [self.client(), self.client()]
        self.expect_results()

    def client(self):
        client = RawClient(self.server).say(hello(DEPTH))
        self.assertEqual(client.read()[0], WELCOME)
        return client

    def ask(self, client):
        """What comes of a picture."""
        self.pictures += 1
        return client.say(picture(self.pictures, DEPTH)).read()[0]

    def expect_results(self):
        self.assertEqual([self.ask(client) for client in self.clients], [RESULT, RESULT])

    def starter(self):
        [starter] = [child for child in children(self.server.process.pid) if b"starter" in command_line(child)]
        return starter

    def kill_relay(self):
        """One session ends."""
        wait_until(lambda: len(children(self.starter())) == 2, "each client has a relay, and nobody else")
        relay = random.choice(children(self.starter()))
        os.kill(relay, signal.SIGKILL)
        await_gone(relay)
        left = [client for client in self.clients if self.is_served(client)]
        self.assertEqual(len(left), 1)
        for client in set(self.clients) - set(left):
            client.__exit__()
        self.clients = left + [self.client()]
        self.expect_results()

    def is_served(self, client):
        try:
            return self.ask(client) == RESULT
        except (ConnectionError, EOFError):
            return False

    def kill_server(self, pid):
        inner = serving_process(self.server.process.pid)
        os.kill(pid(self.server.process.pid), signal.SIGKILL)
        for client in self.clients:
            self.assertEqual(client.until_closed(), [])
        self.assertNotEqual(self.server.process.wait(PATIENCE), 0)
        await_gone(inner)
        self.start_server()

    def kill_starter(self):
        """Sessions go on with the relays they have; new ones are hung up on until the guard has started another."""
        starter = self.starter()
        os.kill(starter, signal.SIGKILL)
        await_gone(starter)
        self.expect_results()
        if not strong_sandbox():  # without a guard there is nobody to start another
            with RawClient(self.server).say(hello(DEPTH)) as late:
                self.assertEqual(late.until_closed(), [])
            self.assertEqual(self.server.stop(), 0)
            return self.start_server()
        wait_until(self.late_client_is_served, "another starter has begun")
        self.expect_results()
        for client in self.clients:  # their relays are nobody's children any more
            client.__exit__()
        self.clients = [self.client(), self.client()]
        self.expect_results()

    def late_client_is_served(self):
        with RawClient(self.server).say(hello(DEPTH)) as late:
            try:
                return late.read()[0] == WELCOME and self.is_served(late)
            except (ConnectionError, EOFError):
                return False

    def test_the_others_go_on(self):
        self.kill_at_random({
            "relay": self.kill_relay,
            "starter of relays": self.kill_starter,
            "server": lambda: self.kill_server(serving_process),
            "guard": lambda: self.kill_server(lambda guard: guard),
        })


def load_tests(loader, _, __):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, (PipelineKills, ArKills)))


if __name__ == "__main__":
    unittest.main()
