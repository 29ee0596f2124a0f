"""What `wharf pipeline worker` and `serve` need on this machine: etcd, and a plan for a small network."""

import contextlib
import os
import socket
import subprocess

from wharf_fixture import BIN, PATIENCE, end_gently, environment, free_port, wait_until

ETCD = "/usr/bin/etcd"


def start_etcd(test):
    """Where it answers; the test is skipped where it is not installed."""
    if not os.access(ETCD, os.X_OK):
        test.skipTest("etcd is not installed (Debian's etcd-server)")
    port, peer = free_port("127.0.0.1"), free_port("127.0.0.1")
    etcd = f"http://127.0.0.1:{port}"
    with open(test.folder / "etcd.log", "w") as log:
        process = subprocess.Popen(
            [ETCD, "--data-dir", test.folder / "etcd", "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
             "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
             f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"],
            stdout=subprocess.PIPE, stderr=log)
    test.addCleanup(end_gently, process)
    def answers():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    wait_until(answers, "etcd answers")
    return etcd


def make_plan(folder):
    """plan.json, for one worker of the class fast=threads:1, from the profiles in lab."""
    model, lab, plan = folder / "net.onnx", folder / "lab", folder / "plan.json"
    (folder / "cluster.yaml").write_text(
        "name: test\nlink_gbit_per_s: 1\nclasses: [{name: fast}]\nhosts: [{class: fast, hosts: 1}]\n")
    (folder / "models.yaml").write_text("profiles: lab\nmodels:\n  - {name: net, slo_ms: 1500}\n")
    for command in ([BIN / "pipeline_test_network", model],
                    [BIN / "wharf", "pipeline", "profile", model, "--out", lab, "--blocks", "2", "--max-batch", "1",
                     "--rounds", "1", "--classes", "fast=threads:1"],
                    [BIN / "wharf", "pipeline", "plan", "--cluster", folder / "cluster.yaml", "--models",
                     folder / "models.yaml", "--json", plan]):
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE,
                              env=environment(folder))
        if done.returncode != 0:
            raise AssertionError(done.stderr)
    return plan
