"""Servers that announce themselves, and who takes them: with scripts in the place of Avahi's programs, and with Avahi
on two machines, which are name spaces with a cable between them."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest
from unittest import mock

import wharf_fixture
from ar_server import ArServer
from wharf_fixture import (BIN, PATIENCE, PROGRAMS, SANITIZER, SHELL, SOURCE, EndToEndTest, children, sandbox,
                           strong_sandbox, wait_until)

TOKEN = "0123456789abcdef0123456789abcdef"
INSIDE = "WHARF_DISCOVERY_INSIDE"  # name spaces of its own
BUS = """<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth><policy context="default">
<allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/>
<allow receive_type="signal"/></policy></busconfig>"""


class Stranger:
    """Takes connections and keeps what they say; answers as it is told to."""

    def __init__(self, answer=b""):
        self.heard, self.answer = b"", answer
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with contextlib.suppress(OSError), connection:
            connection.sendall(self.answer)
            while data := connection.recv(4096):
                self.heard += data

    def close(self):
        self.socket.close()


class Scripted(EndToEndTest):
    """What avahi-browse says is the test's."""

    def setUp(self):
        super().setUp()
        self.token = self.folder / "token"
        self.token.write_text(TOKEN + "\n")
        self.scripts = self.folder / "scripts"
        self.scripts.mkdir()
        path = mock.patch.dict(os.environ, {"PATH": f"{self.scripts}:{os.environ['PATH']}"})
        path.start()
        self.addCleanup(path.stop)
        self.announce()

    kind = "_wharf._tcp"

    def announce(self, **servers):
        lines = []
        for name, address in servers.items():
            host, port = address.rsplit(":", 1)
            lines.append(f"=;lo;IPv4;{name};{self.kind};local;{name}.local;{host};{port};")
        (self.folder / "announced").write_text("".join(line + "\n" for line in lines))
        self.script("avahi-browse", f"exec cat {self.folder}/announced")

    def script(self, name, text):
        (self.scripts / name).write_text(f"{SHELL}\n{text}\n")
        (self.scripts / name).chmod(0o700)

    def another_token(self):
        path = self.folder / "another"
        path.write_text("another token, as long\n")
        return path

    def published(self, server, kind):
        """The process that announces a server: avahi-publish is to be a script that keeps what it was told in `said`."""
        said, port = self.folder / "said", server.address.rsplit(":", 1)[1]
        wait_until(lambda: said.exists() and said.read_text().strip().endswith(f"{kind} {port}"), "it is announced")
        publishers = [pid for pid in children(server.process.pid) if wharf_fixture.command_line(pid)[:1] == [b"sleep"]]
        self.assertEqual(len(publishers), 1)
        return publishers[0]

    @staticmethod
    def await_end(pid):
        wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists() or not wharf_fixture.command_line(pid),
                   "whoever announced it has ended")


class Announced(Scripted):
    def server_in(self, name, *options):
        folder = self.folder / name
        folder.mkdir()
        server = wharf_fixture.Server(folder, "--token-file", self.token, *options)
        self.addCleanup(server.stop)
        return server

    def auto(self, *program, token=True, options=()):
        access = ["--token-file", self.token] if token else []
        return subprocess.run([BIN / "wharf", "run", "--server", "auto", *access, *options, "--", *map(str, program)],
                              capture_output=True, text=True, timeout=PATIENCE,
                              env=wharf_fixture.environment(self.folder))

    def test_who_proves_itself_is_taken(self):
        liar = Stranger(b"HTTP/1.1 200 OK\r\n\r\n")
        self.addCleanup(liar.close)
        other = wharf_fixture.Server(self.folder, "--token-file", self.another_token())
        self.addCleanup(other.stop)
        server = self.server_in("edge")
        self.announce(gone="127.0.0.1:1", liar=liar.address, other=other.address, edge=server.address)
        done = self.auto(PROGRAMS / "looper", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"wharf: edge at {server.address}, ", done.stderr)
        self.assertEqual(server.status()["sessions_opened"], 1)
        self.assertEqual(other.status()["sessions_opened"], 0)
        self.assertNotIn(TOKEN.encode(), liar.heard)

    def test_a_model_is_split_with_the_best(self):
        server = self.server_in("edge", "--cache-dir", "")
        self.announce(gone="127.0.0.1:1", edge=server.address)
        model = SOURCE / "wharf" / "exec" / "testdata" / "small_residual" / "model.onnx"
        done = self.command("split", model, "--server", "auto", "--token-file", self.token, "--random", "--count", "1",
                            "--mode", "server-only", "--cache-dir", "")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"wharf: edge at {server.address}, ", done.stderr)
        self.assertEqual(server.status()["sessions_opened"], 1)

    def test_the_idle_one_is_taken_and_a_full_one_never(self):
        busy, idle = self.server_in("busy"), self.server_in("idle")
        held = [self.start_program(busy, "looper", 1000000, options=["--token-file", self.token]) for _ in range(8)]
        wait_until(lambda: len(busy.status().get("sessions", [])) == len(held), "all sessions are open")
        self.announce(busy=busy.address, idle=idle.address)
        done = self.auto(PROGRAMS / "looper", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("wharf: idle at ", done.stderr)
        full = self.server_in("full", "--max-sessions", "1")
        self.start_program(full, "looper", 1000000, options=["--token-file", self.token])
        self.announce(full=full.address)
        self.assert_one_clear_line(self.auto(PROGRAMS / "looper", 1), "every server on this network is full")

    def test_where_the_chosen_one_dies_before_anything_was_computed_the_next_is_taken(self):
        one, two = self.server_in("one"), self.server_in("two")
        self.announce(one=one.address, two=two.address)
        # The program has its servers, and has not asked for a device yet.
        chosen = self.folder / "chosen"
        done = self.die_and_run(one, two, chosen)
        self.assertEqual(done.returncode, 0, done.stderr)
        left = two if chosen.read_text().strip() == one.address else one
        self.assertIn(f"trying {left.address}", done.stderr)
        self.assertEqual(left.status()["sessions_opened"], 1)

    def die_and_run(self, one, two, chosen):
        for server in (one, two):
            (self.folder / server.address).write_text(f"{server.process.pid}\n")
            threading.Thread(target=server.process.wait, daemon=True).start()  # or it would be there, dead
        return self.auto("sh", "-c", f'echo "$WHARF_SERVER" > {chosen}; read pid < {self.folder}/$WHARF_SERVER; '
                         f"kill -9 $pid; while kill -0 $pid 2> /dev/null; do sleep 0.01; done; "
                         f"exec {PROGRAMS}/looper 3")

    def test_nobody_is_taken_at_their_word(self):
        server = wharf_fixture.Server(self.folder)
        self.addCleanup(server.stop)
        self.announce(edge=server.address)
        self.assert_one_clear_line(self.auto(PROGRAMS / "looper", 1, token=False), "--server auto",
                                   "give --token-file, --tls-pin or --tls-ca")
        self.assert_one_clear_line(self.auto(PROGRAMS / "looper", 1), "no server on this network lets us in",
                                   "the server does not ask for the token")
        self.assert_one_clear_line(self.auto(PROGRAMS / "looper", 1, options=["--tls"]), "--tls-pin")

    def test_that_there_is_nobody_is_one_line(self):
        self.assert_one_clear_line(self.auto(PROGRAMS / "looper", 1), "no server announces itself on this network")
        self.script("avahi-browse", "echo 'Failed to create client object: Daemon not running' >&2; exit 1")
        self.assert_one_clear_line(self.auto(PROGRAMS / "looper", 1), "start avahi-daemon on this machine")

    def test_a_server_is_announced_as_long_as_it_serves(self):
        said = self.folder / "said"
        self.script("avahi-publish", f'echo "$*" > {said}; exec sleep 1000')
        server = wharf_fixture.Server(self.folder, "--token-file", self.token, "--announce", listen="0.0.0.0:0")
        self.addCleanup(server.stop)
        publisher = self.published(server, self.kind)
        os.kill(server.process.pid, signal.SIGKILL)  # it need not say goodbye
        server.process.wait()
        self.await_end(publisher)

    def test_that_a_server_cannot_be_announced_is_one_line(self):
        self.script("avahi-publish", "exec sleep 1000")
        self.assert_one_clear_line(self.command("serve", "--announce", "--listen", "127.0.0.1:0"),
                                   "others cannot reach 127.0.0.1:0")
        self.script("avahi-publish", "echo 'no such option' >&2; exit 1")
        server = wharf_fixture.Server(self.folder, "--token-file", self.token, "--announce", listen="0.0.0.0:0")
        self.addCleanup(server.stop)
        wait_until(lambda: "not announced any more" in server.log_tail(), "the log says so")


class AnnouncedAr(Scripted):
    kind = "_wharf-ar._tcp"

    def server(self, name, *options, **named):
        server = ArServer(self.folder, name, "--token-file", self.token, *options, **named)
        self.addCleanup(server.stop)
        return server

    def auto(self, *options):
        return self.command("ar", "client", "--server", "auto", "--token-file", self.token, "--synthetic", "L/L:0",
                            "--duration", "1s", *options)

    def test_who_proves_itself_is_taken(self):
        liar = Stranger(b"HTTP/1.1 200 OK\r\n\r\n")
        self.addCleanup(liar.close)
        other = wharf_fixture.Server(self.folder, "--token-file", self.token)  # of programs
        self.addCleanup(other.stop)
        server = self.server("edge")
        client = subprocess.Popen(
            [BIN / "wharf", "ar", "client", "--server", server.address, "--token-file", self.token, "--synthetic",
             "L/L:0", "--tasks", "boxes"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        wait_until(lambda: server.said("AR client") == 1, "a client is there")
        self.announce(gone="127.0.0.1:1", liar=liar.address, other=other.address, edge=server.address)
        done = self.auto("--tasks", "boxes")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"wharf: edge at {server.address}, [0-9.]+ ms away, 1 session\n")
        self.assertIn(f"at {server.address}", done.stdout)
        self.assertEqual(server.said("AR client"), 2, "who only asks is none")
        self.assertNotIn(TOKEN.encode(), liar.heard)

    def test_who_does_not_do_the_task_is_passed_over(self):
        boxes = self.server("boxes", "--promise", "boxes")
        self.announce(boxes=boxes.address)
        agreed = ["--tasks", "depth", "--sla", "0.1"]
        self.assert_one_clear_line(self.auto(*agreed), "no server on this network lets us in",
                                   f"{boxes.address}: this server agrees on the accuracy of another task")
        depth = self.server("depth")
        self.announce(boxes=boxes.address, depth=depth.address)
        done = self.auto(*agreed)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"wharf: depth at {depth.address}, ", done.stderr)

    def test_that_there_is_nobody_is_one_line(self):
        self.assert_one_clear_line(self.auto(), "no server announces itself on this network",
                                   "wharf ar serve --announce does")
        self.assert_one_clear_line(self.command("ar", "client", "--server", "auto"), "--server auto",
                                   "give --token-file, --tls-pin or --tls-ca")

    def test_a_server_is_announced_as_long_as_it_serves(self):
        said = self.folder / "said"
        self.script("avahi-publish", f'echo "$*" > {said}; exec sleep 1000')
        for end in (signal.SIGTERM, signal.SIGKILL):
            said.unlink(missing_ok=True)
            server = self.server(end.name, "--announce", listen="0.0.0.0:0")
            publisher = self.published(server, self.kind)
            os.kill(server.process.pid, end)
            server.process.wait()
            self.await_end(publisher)

    def test_that_a_server_cannot_be_announced_is_one_line(self):
        self.script("avahi-publish", "exec sleep 1000")
        self.assert_one_clear_line(self.command("ar", "serve", "--announce", "--listen", "127.0.0.1:0"),
                                   "others cannot reach 127.0.0.1:0")
        if not strong_sandbox():  # its guard says so
            return
        self.script("avahi-publish", "exit 1")
        server = self.server("edge", "--announce", listen="0.0.0.0:0")
        wait_until(lambda: server.said("not announced any more") == 1, "the log says so")


def available():
    """Why Avahi cannot be tried here; None if it can."""
    wanted = ("avahi-daemon", "avahi-browse", "avahi-publish", "dbus-daemon", "unshare", "nsenter", "ip")
    missing = [name for name in wanted
               if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    made = subprocess.run(unshare("ip", "link", "add", "one-end", "type", "veth", "peer", "name", "other-end"),
                          capture_output=True, text=True)
    return None if made.returncode == 0 else "no name spaces here: " + made.stderr.strip()


def unshare(*words):
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *as_root, "--net", "--mount", *words]


class Machine:
    """Name spaces of network and mounts, with a bus and an avahi-daemon of its own."""

    def __init__(self, test, name, address):
        self.test, self.name = test, name
        self.folder = test.folder / name
        self.folder.mkdir()
        self.holder = self.start(unshare("sh", "-c", "echo ready; exec sleep 100000"), stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        test.addCleanup(self.holder.stdout.close)
        bus = f"unix:path={self.folder}/bus"
        self.environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": bus,
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        (self.folder / "bus.conf").write_text(BUS.format(path=f"{self.folder}/bus"))
        (self.folder / "avahi.conf").write_text(
            f"[server]\nhost-name={name}\nallow-interfaces=cable\nenable-dbus=yes\n[publish]\npublish-workstation=no\n")
        subprocess.run(["ip", "link", "set", f"to-{name}", "netns", str(self.holder.pid), "name", "cable"], check=True)
        for words in (["mount", "-t", "tmpfs", "none", "/run"], ["mkdir", "/run/avahi-daemon"],
                      ["ip", "link", "set", "lo", "up"], ["ip", "address", "add", f"{address}/24", "dev", "cable"],
                      ["ip", "link", "set", "cable", "up"]):
            subprocess.run(self.here(*words), check=True)
        self.start(self.here("dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile"))
        wait_until((self.folder / "bus").exists, "the bus is there")
        self.start(self.here("avahi-daemon", "--no-drop-root", "--no-chroot", "--no-rlimits", "--file",
                             self.folder / "avahi.conf"))

    def start(self, words, **named):
        log = (self.folder / "log").open("ab")
        with log:
            process = subprocess.Popen(words, stderr=log, env=getattr(self, "environment", None), text=True,
                                       **{"stdout": log, **named})
        self.test.addCleanup(wharf_fixture.end_gently if "stdout" not in named else self.kill, process)
        return process

    @staticmethod
    def kill(process):
        process.kill()
        process.wait()

    def here(self, *words):
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", *map(str, words)]

    def run(self, *words):
        return subprocess.run(self.here(*words), capture_output=True, text=True, timeout=PATIENCE, env=self.environment)


class WithAvahi(EndToEndTest):
    """Outside: runs itself in name spaces; there, two machines."""

    @unittest.skipIf(SANITIZER, "its processes are Avahi's")
    def test_a_server_on_another_machine_is_found(self):
        if INSIDE in os.environ:
            return self.two_machines()
        reason = available()
        if reason:
            self.skipTest(reason)
        inside = subprocess.run(unshare(sys.executable, __file__, "WithAvahi"), env={**os.environ, INSIDE: "1"},
                                capture_output=True, text=True, timeout=5 * PATIENCE)
        self.assertEqual(inside.returncode, 0, inside.stderr)
        return None

    def two_machines(self):
        subprocess.run(["ip", "link", "add", "to-edge", "type", "veth", "peer", "name", "to-robot"], check=True)
        edge, robot = Machine(self, "edge", "10.99.0.1"), Machine(self, "robot", "10.99.0.2")
        token = self.folder / "token"
        token.write_text(TOKEN + "\n")
        with (edge.folder / "serve.log").open("ab") as log:
            edge.start(edge.here(BIN / "wharf", "serve", "--listen", "0.0.0.0:7070", "--device", "soft", sandbox(),
                                 "--announce", "--token-file", token, "--cache-dir", ""), stdout=log)
            edge.start(edge.here(BIN / "wharf", "ar", "serve", "--listen", "0.0.0.0:7072", sandbox(), "--announce",
                                 "--largest-batch", "1", "--token-file", token), stdout=log)
        run = ["run", "--server", "auto", "--token-file", token, "--", PROGRAMS / "looper", "3"]
        done = wait_until(lambda: self.succeeded(robot.run(BIN / "wharf", *run)), "the server is found")
        self.assertIn("at 10.99.0.1:7070, ", done.stderr)
        client = ["ar", "client", "--server", "auto", "--token-file", token, "--tasks", "boxes", "--duration", "1s"]
        done = wait_until(lambda: self.succeeded(robot.run(BIN / "wharf", *client)), "the AR server is found")
        self.assertIn("at 10.99.0.1:7072, ", done.stderr)
        wrong = self.folder / "wrong"
        wrong.write_text("another token, as long\n")
        run[run.index(token)] = wrong
        self.assert_one_clear_line(robot.run(BIN / "wharf", *run), "no server on this network lets us in")

    @staticmethod
    def succeeded(done):
        return done if done.returncode == 0 else None


if __name__ == "__main__":
    unittest.main()
