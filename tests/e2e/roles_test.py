"""Roles: what a certificate is for, at every server that asks for one; and that what a scheduler proves to an address
that the registry names is worth nothing anywhere else (docs/authentication.md).
"""

import base64
import contextlib
import functools
import hmac
import json
import pathlib
import socket
import struct
import subprocess
import tempfile
import unittest
import urllib.request

from ar_server import ArServer
from certificates import Authority
from frames import RawPeer, frame
from pipeline_fixture import make_plan, start_etcd
from wharf_fixture import (BIN, PATIENCE, SOURCE, EndToEndTest, bounded, end_gently, environment, sandbox, wait_until)

CLIENT, WORKER, SCHEDULER = "wharf-client", "wharf-worker", "wharf-scheduler"
NOT_A_CLIENT = "the certificate is not for a client: its subject needs OU=wharf-client"
HELLO, GOODBYE, CHALLENGE, PROOF = 160, 162, 178, 179  # of pipelines
PIPELINE_MAGIC = 0x50524857


@functools.cache
def plans():
    """A folder with a plan for one worker, of all tests here."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    make_plan(pathlib.Path(folder.name))
    return pathlib.Path(folder.name)


class Pipeline:
    """Servers of one pipeline and what they have said."""

    def __init__(self, test):
        self.test, self.etcd = test, start_etcd(test)
        self.plans = plans()

    def start(self, name, *command):
        """A server; where it is."""
        log = self.log_of(name)
        with open(log, "w") as file:
            process = subprocess.Popen(
                [*map(str, (BIN / "wharf", "pipeline", *command, "--etcd", self.etcd, "--listen", "127.0.0.1:0", sandbox()))],
                stdout=subprocess.PIPE, stderr=file, text=True, env=environment(self.test.folder))
        self.test.addCleanup(end_gently, process)
        with bounded(process):
            line = process.stdout.readline()
        self.test.assertIn(" at ", line, log.read_text())
        return process, line.split()[-1]

    def start_worker(self, *options):
        return self.start("worker", "worker", "--class", "fast=threads:1", "--cache-dir", "", *options)[1]

    def start_scheduler(self, name, *options):
        return self.start(name, "serve", self.plans / "plan.json", "--profiles", self.plans / "lab", *options)

    def log_of(self, name):
        return self.test.folder / f"{name}.log"

    def said(self, name, what):
        return self.log_of(name).read_text().count(what)


class Certificates(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.ca = Authority(self.folder)

    def showing(self, *units):
        """Options of who connects."""
        return [*self.ca.give(*units), *self.ca.trusting()]

    def assert_only_clients_are_served(self, *command):
        """By a server that asks for certificates: the command gives each to it in turn."""
        for units in ((WORKER,), (SCHEDULER,)):
            done = self.command(*command, *self.showing(*units))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual([line for line in done.stderr.splitlines() if line.startswith("wharf: ")],
                             [f"wharf: {NOT_A_CLIENT}"])
        for units in ((CLIENT,), ()):
            done = self.command(*command, *self.showing(*units))
            self.assertEqual(done.returncode, 0, f"{units}: {done.stderr}")

    def test_programs_and_models_of_other_roles_are_refused(self):
        server = self.serve(*self.ca.give("serve"), *self.ca.asking())
        for units in ((WORKER,), (SCHEDULER,)):
            done = self.run_program(server, "looper", 1, options=self.showing(*units))
            self.assert_one_clear_line(done, NOT_A_CLIENT)
        for units in ((CLIENT,), ("robots",)):
            self.assertEqual(self.run_program(server, "looper", 1, options=self.showing(*units)).returncode, 0)
        if (BIN / "wharf-model").exists():
            model = SOURCE / "wharf" / "exec" / "testdata" / "tiny" / "model.onnx"
            self.assert_only_clients_are_served("split", model, "--server", server.address, "--random", "--count", 1,
                                                "--cache-dir", "", "--mode", "server-only")

    def test_ar_clients_of_other_roles_are_refused(self):
        server = ArServer(self.folder, "server", *self.ca.give("serve"), *self.ca.asking())
        self.addCleanup(server.stop)
        self.assert_only_clients_are_served("ar", "client", "--server", server.address, "--synthetic", "L/L:0",
                                            "--duration", "1s", "--tasks", "boxes")

    def test_each_door_of_a_pipeline_is_for_its_roles(self):
        pipeline = Pipeline(self)
        worker = pipeline.start_worker(*self.showing(WORKER), *self.ca.asking())
        load = ("pipeline", "load", "--rate", 5, "--seconds", 1)
        # A client at the worker's door: by the right certificate of a client, by one of a worker.
        done = self.command(*load, "--server", worker, *self.showing(CLIENT))
        self.assertEqual(done.returncode, 1)
        self.assert_one_clear_line(done, "this is a worker: clients go to wharf pipeline serve")
        done = self.command(*load, "--server", worker, *self.showing(WORKER))
        self.assertEqual(done.returncode, 1)
        self.assert_one_clear_line(done, NOT_A_CLIENT)
        # Schedulers with certificates of others: they go on trying, say so once, and have no worker.
        for unit in (CLIENT, WORKER):
            before = pipeline.said("worker", "pipeline session ended")
            scheduler, _ = pipeline.start_scheduler(f"by-{unit}", *self.showing(unit), *self.ca.asking())
            wait_until(lambda: pipeline.said("worker", "pipeline session ended") >= before + 3, "it has tried three times")
            self.assertEqual(end_gently(scheduler), 0)
            why = "the certificate is not for a scheduler: its subject needs OU=wharf-scheduler"
            [line] = [line for line in pipeline.log_of(f"by-{unit}").read_text().splitlines()
                      if "a worker cannot be used" in line]
            self.assertIn(why, line)
        # The right one; at its door only clients are let in.
        _, address = pipeline.start_scheduler("serve", *self.showing(SCHEDULER), *self.ca.asking())
        counts = self.folder / "load.json"
        def served():
            done = self.command(*load, "--server", address, "--json", counts, *self.showing(CLIENT))
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(counts.read_text())["on time"] > 0
        wait_until(served, "requests are answered in time")
        self.assert_only_clients_are_served(*load, "--server", address)


def encoded(*fields):
    """As messages encode them: strings with their length, bytes as they are."""
    return b"".join(struct.pack("<I", len(one)) + one.encode() if isinstance(one, str) else one for one in fields)


def proof_of(token, role, client_nonce, server_nonce):
    """A client's, over a connection without TLS (docs/protocol.md, "Proving a token")."""
    key = hmac.digest(token.encode(), encoded("wharf role 1", role), "sha256")
    said = encoded("wharf proof 1", b"\1", struct.pack("<I", PIPELINE_MAGIC), role, client_nonce, server_nonce, "")
    return hmac.digest(key, said, "sha256")


class RogueWorker:
    """Registered in etcd; whoever connects to it is asked for a proof."""

    def __init__(self, pipeline):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE)
        host, port = self.listener.getsockname()
        value = json.dumps({"class": "fast", "address": f"{host}:{port}", "gpus": 1})
        put = {"key": base64.b64encode(b"/wharf/pipeline/default/workers/rogue").decode(),
               "value": base64.b64encode(value.encode()).decode()}
        urllib.request.urlopen(f"{pipeline.etcd}/v3/kv/put", json.dumps(put).encode(), timeout=PATIENCE).close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    @contextlib.contextmanager
    def visited(self):
        """By a scheduler: what it is heard by, and the nonce in its Hello."""
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE)
        with RawPeer(connection) as scheduler:
            kind, _, head, _ = scheduler.read()
            assert kind == HELLO, kind
            yield scheduler, head[16:48]


class RegisteredAddresses(EndToEndTest):
    """A scheduler connects to whatever address the registry names."""

    def setUp(self):
        super().setUp()
        self.pipeline = Pipeline(self)

    def token(self, name, text):
        path = self.folder / name
        path.write_text(text + "\n")
        path.chmod(0o600)
        return path

    def relay(self, rogue, door):
        """The rogue has the scheduler answer the challenge of the scheduler's own door: both nonces, the proof, and
        what the door says to it."""
        host, port = door.rsplit(":", 1)
        with rogue.visited() as (scheduler, nonce), \
                RawPeer(socket.create_connection((host, int(port)), timeout=PATIENCE)) as client:
            hello = struct.pack("<IHHQ", PIPELINE_MAGIC, 3, 0, 0) + nonce + b"\3"  # a client's
            kind, _, challenge, _ = client.say(frame(HELLO, head=hello)).read()
            self.assertEqual(kind, CHALLENGE)
            kind, _, proof, _ = scheduler.say(frame(CHALLENGE, head=challenge)).read()
            self.assertEqual(kind, PROOF)
            kind, _, answer, _ = client.say(frame(PROOF, head=proof)).read()
            self.assertEqual(kind, GOODBYE)
            return nonce, challenge, proof, answer[6:].decode()

    def test_what_a_rogue_worker_is_told_proves_nothing_to_anybody_else(self):
        ours, workers = "the token of the clients", "the token of the workers"
        client_file, worker_file = self.token("client", ours), self.token("worker", workers)
        for given, secret in ((worker_file, workers), (client_file, ours)):  # not even where both are the same
            with RogueWorker(self.pipeline) as rogue:
                scheduler, door = self.pipeline.start_scheduler(given.name, "--token-file", client_file,
                                                                "--worker-token-file", given)
                nonce, challenge, proof, said = self.relay(rogue, door)
            self.assertIn("the token is wrong", said)
            self.assertEqual(proof, proof_of(secret, "scheduler", nonce, challenge))
            self.assertNotEqual(proof, proof_of(ours, "client", nonce, challenge))
            self.assertEqual(end_gently(scheduler), 0)

    def test_without_a_token_of_the_workers_it_is_told_nothing(self):
        client_file = self.token("client", "the token of the clients")
        self.pipeline.start_scheduler("serve", "--token-file", client_file)
        with RogueWorker(self.pipeline) as rogue, rogue.visited() as (scheduler, _):
            scheduler.say(frame(CHALLENGE, head=bytes(32)))
            self.assertEqual(scheduler.until_closed(), [])
        wait_until(lambda: self.pipeline.said("serve", "the server wants a token"), "the scheduler says why")


if __name__ == "__main__":
    unittest.main()
