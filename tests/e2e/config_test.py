"""`--config FILE`: the example that is installed is true, and the four servers take such a file."""

import re
import subprocess
import unittest

from wharf_fixture import BIN, SOURCE, EndToEndTest, bounded, end_gently, environment, sandbox

EXAMPLE = SOURCE / "packaging" / "serve.toml"
SERVERS = (["serve"], ["ar", "serve"], ["pipeline", "worker"], ["pipeline", "serve", "plan.json"])


def plain(value):
    """As the example writes what --help shows."""
    return "~/.cache/wharf" if value.endswith("/wharf") else value


class ConfigTest(EndToEndTest):
    def config(self, text):
        path = self.folder / "wharf.toml"
        path.write_text(text)
        return path

    def options(self):
        """Of `wharf serve`, with their defaults as --help has them: "" for none."""
        text = self.command("serve", "--help").stdout
        found = re.findall(r"^  (?:-\w,)?--([\w-]+)(?: [^\s=]+?(?: in \[\S+ - \S+\])?(?:=(\S+))?)?(?=\s|$)", text, re.MULTILINE)
        return {name: default for name, default in found if name not in ("help", "ar", "config")}

    def example(self):
        return dict(re.findall(r"^# ([\w-]+) = (.*)$", EXAMPLE.read_text(), re.MULTILINE))

    def start(self, *words):
        """The line that a server says when it is there. It is ended."""
        with (self.folder / "serve.log").open("w") as log:
            process = subprocess.Popen([BIN / "wharf", *map(str, words)], stdout=subprocess.PIPE, stderr=log, text=True,
                                       env=environment(self.folder))
        with bounded(process):
            line = process.stdout.readline()
        self.assertEqual(end_gently(process), 0, (self.folder / "serve.log").read_text())
        return line

    def test_the_example_has_every_option_with_its_default(self):
        options = self.options()
        self.assertEqual(options["listen"], "127.0.0.1:7070")
        example = self.example()
        self.assertEqual(sorted(example), sorted(options))
        for name, value in example.items():
            self.assertEqual("" if value == "false" else value.strip('"'), plain(options[name]), name)
        self.assertNotRegex(EXAMPLE.read_text(), r"(?m)^[^#\n]")  # nothing is set

    def test_the_example_is_taken_as_it_is_and_with_every_line_uncommented(self):
        here = ("--listen", "127.0.0.1:0", "--device", "soft", sandbox(), "--cache-dir", self.folder / "cache")
        said = self.start("serve", "--config", EXAMPLE, *here)
        self.assertRegex(said, r"\(soft\) on 127\.0\.0\.1:\d+$")
        everything = self.config(re.sub(r"(?m)^# ([\w-]+ = .*)$", r"\1", EXAMPLE.read_text()))
        self.assertIn("\nlisten = ", everything.read_text())
        self.assertRegex(self.start("serve", "--config", everything, *here), r"\(soft\) on 127\.0\.0\.1:\d+$")

    def test_a_server_is_what_the_file_says(self):
        address = f"unix:{self.folder}/socket"
        config = self.config(f'listen = "{address}"\ndevice = "soft"\ncache-dir = ""\n')
        self.assertTrue(self.start("serve", "--config", config, sandbox()).endswith(f" (soft) on {address}\n"))

    def test_an_unknown_key_is_named_with_its_file_by_every_server(self):
        config = self.config('lisen = "127.0.0.1:0"\n')
        for words in SERVERS:
            done = self.command(*words, "--config", config)
            self.assertEqual(done.returncode, 2, done.stderr)
            command = " ".join(word for word in words if word != "plan.json")
            self.assertEqual(done.stderr,
                             f'wharf: {config}: there is no option "lisen" (see wharf {command} --help)\n')

    def test_the_file_is_checked_as_the_command_line_is(self):
        config = self.config('listen = "0.0.0.0:0"\ndevice = "soft"\n')
        self.assert_one_clear_line(self.command("serve", "--config", config), "--token-file")
        done = self.command("serve", "--config", self.config("ar = true\n"))
        self.assertEqual(done.returncode, 2)
        self.assert_one_clear_line(done, '"ar" is for the command line only')


if __name__ == "__main__":
    unittest.main()
