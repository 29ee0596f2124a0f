"""`wharf ar serve` itself never has its secrets: whoever takes it over cannot pass for it, nor let others in."""

import os
import re
import socket
import ssl
import subprocess
import unittest

from ar_server import ArServer
from certificates import Authority
from wharf_fixture import PATIENCE, SANITIZER, EndToEndTest, children, command_line, serving_process, strong_sandbox


def memory_of(pid):
    """What a process can read of its own, piece by piece."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(number, 16) for number in line.split(" ", 1)[0].split("-"))
            if " r" not in line or "[v" in line:  # vvar and vsyscall cannot be read
                continue
            try:
                memory.seek(begin)
                yield memory.read(end - begin)
            except (OSError, OverflowError):  # reserved only
                continue


def knows(pid, *secrets):
    return [secret for secret in secrets if any(secret in piece for piece in memory_of(pid))]


def private_number(key):
    """Of a P-256 key in PEM, as OpenSSL computes with it: words from the least significant on."""
    text = subprocess.run(["openssl", "ec", "-in", key, "-outform", "DER"], check=True, capture_output=True).stdout
    number = text[7:39]  # SEQUENCE, version, OCTET STRING of 32 bytes
    assert text[5:7] == b"\4\x20", text
    return number[::-1]


@unittest.skipIf(os.geteuid() != 0, "only root reads another process's memory")
@unittest.skipIf(SANITIZER, "a sanitizer maps terabytes")
class Secrets(EndToEndTest):
    def test_relays_have_them_and_the_server_does_not(self):
        if not strong_sandbox():
            self.skipTest("without a guard the server's process has read the files to look whether they will do")
        authority = Authority(self.folder)
        token = self.folder / "token"
        token.write_text("a token that stands nowhere else 4711")
        # Its user's, for clients.
        os.environ["WHARF_TOKEN"] = token.read_text()
        self.addCleanup(os.environ.pop, "WHARF_TOKEN")
        given = authority.give("serve")
        server = ArServer(self.folder, "server", *given, "--token-file", token)
        self.addCleanup(server.stop)
        served = self.command("ar", "client", "--server", server.address, *authority.trusting(), "--token-file", token,
                              "--synthetic", "L/L:0", "--duration", "1s", "--tasks", "boxes")
        self.assertEqual(served.returncode, 0, served.stderr)
        context = ssl.create_default_context(cafile=authority.certificate)
        host, port = server.address.rsplit(":", 1)
        with context.wrap_socket(socket.create_connection((host, int(port)), PATIENCE), server_hostname=host):
            [starter] = [child for child in children(server.process.pid) if b"starter" in command_line(child)]
            [relay] = children(starter)
            key = private_number(given[3])
            secrets = [token.read_bytes(), key, re.sub(rb"-.*\n", b"", given[3].read_bytes())[:64]]
            relays = knows(relay, *secrets)  # first: a relay whose client says nothing soon ends
            self.assertIn(key, relays, "the test finds what is there")
            self.assertNotIn(secrets[0], relays)
            self.assertEqual(knows(serving_process(server.process.pid), *secrets), [])
            self.assertEqual(knows(starter, *secrets), [])


if __name__ == "__main__":
    unittest.main()
