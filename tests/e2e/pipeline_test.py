"""`wharf pipeline` on hosts of its own: each worker in a network namespace, etcd and the scheduler outside.

Workers are killed, links are cut, etcd is restarted, while requests come: every one of them is answered or reported as
dropped, and afterwards they are answered in time again. Needs root (network namespaces) and Debian's etcd-server.
"""

import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

from wharf_fixture import BIN, PATIENCE, environment, free_port, sandbox, wait_until

ETCD = "/usr/bin/etcd"
WHARF = str(BIN / "wharf")
PORT = 7090
LEASE = 6  # seconds: more than a busy machine keeps a worker from renewing it


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def why_not():
    """Why this cannot run here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if not os.access(ETCD, os.X_OK):
        return "etcd is not installed (Debian's etcd-server)"
    name = f"wharf-probe-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
        return "ip netns does not work here"
    run("ip", "netns", "del", name)
    return None


_networks = itertools.count()  # the kernel removes a network's links some time after it was told to: names are used once


class Network:
    """Hosts behind a bridge: 10.213.N.1 is the test itself, 10.213.N.2 and on are namespaces."""

    def __init__(self, hosts):
        self.subnet = f"10.213.{random.randrange(1, 255)}"
        name = f"{os.getpid()}n{next(_networks)}"
        self.bridge = f"whb{name}"[:15]
        self.hosts = [f"wharf-{name}-{i}" for i in range(hosts)]
        self.links = [f"w{name}v{i}"[:15] for i in range(hosts)]

    def address(self, host):
        return f"{self.subnet}.{host + 2}"

    def __enter__(self):
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "addr", "add", f"{self.subnet}.1/24", "dev", self.bridge)
        run("ip", "link", "set", self.bridge, "up")
        for i, (host, link) in enumerate(zip(self.hosts, self.links)):
            run("ip", "netns", "add", host)
            run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", host)
            run("ip", "link", "set", link, "master", self.bridge, "up")
            run("ip", "-n", host, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            run("ip", "-n", host, "link", "set", "eth0", "up")
            run("ip", "-n", host, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True)

    def cut(self, host, is_cut):
        run("ip", "link", "set", self.links[host], "down" if is_cut else "up")

    def cut_between(self, one, other, is_cut):
        """Neither reaches the other; everybody else reaches both."""
        for host, there in ((one, other), (other, one)):
            run("ip", "-n", self.hosts[host], "route", "add" if is_cut else "del", "blackhole",
                f"{self.address(there)}/32")


@unittest.skipIf(why_not(), why_not())
class PipelineTest(unittest.TestCase):
    CLASSES = ["fast", "slow", "slow"]
    SPEEDS = {"fast": "fast=threads:1", "slow": "slow=threads:1,slowdown:2"}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="wharf-pipeline-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.network = Network(3)
        self.addCleanup(self.network.__exit__)
        self.network.__enter__()
        self.addCleanup(self.kill_all)
        self.processes = {}
        self.token = self.folder / "token"
        self.token.write_text("a token for this test\n")
        self.token.chmod(0o600)
        self.worker_token = self.folder / "worker_token"
        self.worker_token.write_text("the workers' token for this test\n")
        self.worker_token.chmod(0o600)
        self.encrypted = False

    def certificate(self, name, address):
        """Options: a certificate of the test's CA for an address, and trust in that CA."""
        ca, key = self.folder / "ca.pem", self.folder / "ca.key"
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        if not ca.exists():
            run(*new, "-subj", "/CN=test CA", "-keyout", str(key), "-out", str(ca))
        mine, mine_key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        if not mine.exists():
            role = {"w": "worker", "s": "scheduler"}.get(name[0], "client")
            run(*new, "-CA", str(ca), "-CAkey", str(key), "-subj", f"/CN={name}/OU=wharf-{role}", "-addext",
                f"subjectAltName=IP:{address}", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout",
                str(mine_key), "-out", str(mine))
        return ["--tls-cert", str(mine), "--tls-key", str(mine_key), "--tls-ca", str(ca)]

    def server_tls(self, name, address):
        if not self.encrypted:
            return []
        return [*self.certificate(name, address), "--tls-client-ca", str(self.folder / "ca.pem")]

    def kill_all(self):
        for name in list(self.processes):
            self.kill(name)

    def kill(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def start(self, name, *command, host=None):
        inside = ["ip", "netns", "exec", self.network.hosts[host]] if host is not None else []
        with open(self.folder / f"{name}.log", "a") as log:
            self.processes[name] = subprocess.Popen([*inside, *command], stdout=log, stderr=log,
                                                    env=environment(self.folder))

    def said(self, name, what):
        """How often a process said so."""
        self.assertIsNone(self.processes[name].poll(), self.log(name))
        return self.log(name).count(what)

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def start_etcd(self):
        if not hasattr(self, "etcd"):
            self.etcd = f"http://{self.network.subnet}.1:{free_port(self.network.subnet + '.1')}"
            self.etcd_peer = f"http://127.0.0.1:{free_port('127.0.0.1')}"
        self.start("etcd", ETCD, "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", self.etcd,
                   "--advertise-client-urls", self.etcd, "--listen-peer-urls", self.etcd_peer,
                   "--initial-advertise-peer-urls", self.etcd_peer, "--initial-cluster", f"default={self.etcd_peer}")

    def start_worker(self, host):
        name = f"w{host}"
        before = self.log(name).count("pipeline worker")
        def registered():
            if self.processes.get(name) is None or self.processes[name].poll() is not None:  # etcd was not there yet
                self.start(name, WHARF, "pipeline", "worker", sandbox(), "--name", name, "--listen",
                           f"{self.network.address(host)}:{PORT}", "--class", self.SPEEDS[self.CLASSES[host]], "--lease",
                           str(LEASE), "--etcd", self.etcd, "--token-file", str(self.worker_token), "--cache-dir",
                           str(self.folder / name), *self.server_tls(name, self.network.address(host)), host=host)
            return self.log(name).count("pipeline worker") > before
        wait_until(registered, f"{name} registers")

    def plan(self):
        model, lab = self.folder / "net.onnx", self.folder / "lab"
        run(str(BIN / "pipeline_test_network"), str(model))
        run(WHARF, "pipeline", "profile", str(model), "--out", str(lab), "--blocks", "4", "--max-batch", "2", "--rounds",
            "3", "--classes", "fast=threads:1,slow=threads:1,slowdown:2")
        (self.folder / "cluster.yaml").write_text(
            "name: test\nlink_gbit_per_s: 1\nclasses: [{name: fast}, {name: slow}]\n"
            "hosts: [{class: fast, hosts: 1}, {class: slow, hosts: 2}]\n")
        (self.folder / "models.yaml").write_text(
            "profiles: lab\nmargin: 0.4\nmodels:\n  - {name: net, slo_ms: 1500}\n")
        run(WHARF, "pipeline", "plan", "--cluster", str(self.folder / "cluster.yaml"), "--models",
            str(self.folder / "models.yaml"), "--json", str(self.folder / "plan.json"))

    def cut_the_model(self):
        """Another plan than the best for so small a model: its first half on the slow hosts, the rest on the fast one."""
        path = self.folder / "plan.json"
        plan = json.loads(path.read_text())
        blocks = plan["models"][0]["blocks"]
        cut = blocks // 2
        sizes = (self.folder / "lab" / "block_output_bytes.csv").read_text().split()[1:]
        sent = {int(block): int(size) for _, block, size in (row.split(",") for row in sizes)}[cut - 1]
        classes = [one["name"] for one in plan["cluster"]["classes"]]
        def stage(gpu_class, vgpus, first, end, output_bytes):
            return {"class": classes.index(gpu_class), "vgpus": vgpus, "first_block": first, "end_block": end,
                    "latency_us": [20e3, 20e3], "output_bytes": output_bytes, "transfer_us": 0, "vgpus_per_gpu": 1}
        plan["pipelines"] = [{"model": 0, "batch": 2, "throughput": plan["models"][0]["throughput"],
                              "stages": [stage("slow", 2, 0, cut, sent), stage("fast", 1, cut, blocks, 0)]}]
        path.write_text(json.dumps(plan))

    def serve(self):
        self.address = f"127.0.0.1:{free_port('127.0.0.1')}"
        self.start("serve", WHARF, "pipeline", "serve", sandbox(), str(self.folder / "plan.json"), "--profiles",
                   str(self.folder / "lab"), "--etcd", self.etcd, "--listen", self.address, "--token-file",
                   str(self.token), "--worker-token-file", str(self.worker_token),
                   *self.server_tls("serve", "127.0.0.1"))
        wait_until(lambda: self.said("serve", "serving at"), "the scheduler listens")
        wait_until(lambda: self.said("serve", "a worker is there") >= 3, "it sees the workers")

    def load(self, seconds, rate=20):
        """Starts requests; the function returned waits for them and gives the counts."""
        result = self.folder / f"load{len(self.processes)}.json"
        process = subprocess.Popen([WHARF, "pipeline", "load", "--server", self.address, "--token-file", str(self.token),
                                    "--rate", str(rate), "--seconds", str(seconds), "--json", str(result),
                                    *(self.certificate("client", "127.0.0.1") if self.encrypted else [])],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        def finish():
            output, _ = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, output)
            counts = json.loads(result.read_text())
            fates = ["on time", "late", "too late", "no capacity", "worker lost"]
            self.assertEqual(counts["unanswered"], 0, f"{counts}\n{self.log('serve')}")
            self.assertEqual(sum(counts[fate] for fate in fates), counts["requests"])
            return counts
        return finish

    def await_service(self):
        """Until requests are answered in time again."""
        wait_until(lambda: self.load(seconds=1)()["attainment"] >= 0.9, f"it recovers: {self.log('serve')}")

    def test_no_request_is_lost_when_workers_die_links_are_cut_and_etcd_restarts(self):
        self.start_etcd()
        self.plan()
        for host in range(3):
            self.start_worker(host)
        self.serve()
        self.await_service()

        # A worker opens no file; its keeper does.
        self.assertTrue(list(self.folder.glob("w*/models/*.onnx")))
        finish = self.load(seconds=4)  # a slow worker dies and comes back
        self.kill("w1")
        self.start_worker(1)
        finish()
        self.await_service()

        finish = self.load(seconds=LEASE + 4)  # a slow worker's network is gone, longer than its lease
        gone = self.said("serve", "a worker is gone")
        self.network.cut(2, True)
        wait_until(lambda: self.said("serve", "a worker is gone") > gone, "the lease ends")
        finish()
        self.await_service()
        there = self.said("serve", "a worker is there")
        self.network.cut(2, False)
        wait_until(lambda: self.said("serve", "a worker is there") > there, "the worker is back")
        self.await_service()

        finish = self.load(seconds=4)  # etcd restarts: nobody is lost for it
        gone = self.said("serve", "a worker is gone")
        self.kill("etcd")
        self.start_etcd()
        finish()
        self.assertEqual(self.said("serve", "a worker is gone"), gone)
        self.await_service()

    def test_no_request_is_lost_when_two_workers_cannot_reach_each_other(self):
        self.start_etcd()
        self.plan()
        self.cut_the_model()
        for host in range(3):
            self.start_worker(host)
        self.serve()
        self.await_service()
        finish = self.load(seconds=6)
        self.network.cut_between(0, 1, True)  # the fast one and a slow one: they are members still
        finish()
        self.network.cut_between(0, 1, False)
        self.await_service()

    def test_everything_is_encrypted_and_clients_need_a_certificate(self):
        self.encrypted = True
        self.start_etcd()
        self.plan()
        self.cut_the_model()
        for host in range(3):
            self.start_worker(host)
        self.serve()
        self.await_service()
        ours = self.certificate("client", "127.0.0.1")
        for options in (ours[4:], []):  # none to show; not even TLS. Whether one still hears why depends on who is first
            done = subprocess.run([WHARF, "pipeline", "load", "--server", self.address, "--token-file", str(self.token),
                                   "--seconds", "1", *options], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stderr, r"(?m)^wharf: ")
        self.await_service()

    def test_a_wrong_token_is_refused(self):
        self.start_etcd()
        self.plan()
        for host in range(3):
            self.start_worker(host)
        self.serve()
        self.token.write_text("another token of a test\n")
        done = subprocess.run([WHARF, "pipeline", "load", "--server", self.address, "--token-file", str(self.token)],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the token is wrong", done.stderr)


if __name__ == "__main__":
    unittest.main()
