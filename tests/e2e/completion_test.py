"""`wharf completion`: what shells offer is what the commands take."""

import functools
import re
import shutil
import subprocess
import unittest

from wharf_fixture import BIN, PATIENCE, EndToEndTest

BASH = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_wharf
printf '%s\\n' "${COMPREPLY[@]}"
"""
# The functions of zsh's completion that the script calls, so that they say what they would offer.
ZSH = """
compdef() { :; }
compset() { :; }
compadd() { shift; print -rl -- "$@"; }
_describe() { print -rl -- "${(@)${(@P)2}%%:*}"; }
_files() { print FILES; }
source "$1"; shift
words=("$@") CURRENT=$#
_wharf
"""


class CompletionTest(EndToEndTest):
    @classmethod
    @functools.cache
    def script(cls, shell):
        done = subprocess.run([BIN / "wharf", "completion", shell], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def offered(self, shell, *words):
        """What is offered for the last of the words."""
        path = self.folder / f"completion.{shell}"
        path.write_text(self.script(shell))
        code, options = (BASH, ["--norc"]) if shell == "bash" else (ZSH, ["-f"])
        done = subprocess.run([shell, *options, "-c", code, shell, path, "wharf", *words], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def help(self, *path):
        """Commands and options that it shows."""
        text = self.command(*path, "--help").stdout
        options = [name for line in re.findall(r"^  (-\S+)", text, re.MULTILINE) for name in line.split(",")]
        commands = re.findall(r"^  (\w[\w-]*)  ", text.partition("\nOptions:\n")[2], re.MULTILINE)
        return commands, options

    def test_bash_offers_every_command_and_every_option_that_help_shows(self):
        commands, options = self.help()
        self.assertLessEqual({"run", "split", "ar", "pipeline", "completion"}, set(commands))
        self.assertEqual(sorted(self.offered("bash", "")), sorted(commands))
        self.assertEqual(sorted(self.offered("bash", "-")), sorted(options))
        self.assertEqual(sorted(self.offered("bash", "pipeline", "")), sorted(self.help("pipeline")[0]))
        for path in (["run"], ["pipeline", "plan"], ["pipeline", "serve"], ["split"], ["ar", "client"],
                     ["bench", "multitask"]):
            shown = set(self.help(*path)[1])  # examples may show an option once more
            self.assertGreater(len(shown), 3, path)
            self.assertEqual(sorted(self.offered("bash", *path, "-")), sorted(shown), path)

    def test_bash_completes_what_is_begun_values_and_files(self):
        self.assertEqual(self.offered("bash", "pipe"), ["pipeline"])
        self.assertEqual(sorted(self.offered("bash", "pipeline", "plan", "--mo")), ["--mode", "--models"])
        self.assertEqual(self.offered("bash", "pipeline", "plan", "--mode", ""), ["ours", "np", "dart-r"])
        self.assertEqual(self.offered("bash", "pipeline", "plan", "--mode", "=", "d"), ["dart-r"])  # as bash splits it
        self.assertEqual(self.offered("bash", "pipeline", "plan", "--models", ""), [])  # the shell's own: files
        self.assertEqual(self.offered("bash", "run", "--local", "--", "./program", "-"), [])
        self.assertEqual(self.offered("bash", "worker", "--"), self.offered("bash", "--"))  # hidden

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_offers_the_same(self):
        for words in ([""], ["-"], ["pipeline", ""], ["run", "-"], ["pipeline", "plan", "--mode", ""],
                      ["ar", "client", "-"]):
            self.assertEqual(self.offered("zsh", *words), self.offered("bash", *words), words)
        self.assertEqual(self.offered("zsh", "pipeline", "plan", "--models", ""), ["FILES"])
        self.assertEqual(self.offered("zsh", "run", "--", "./program", "-"), ["FILES"])

    def test_every_command_is_in_a_group(self):
        text = self.command("--help").stdout
        self.assertNotIn("\nSubcommands:", text)
        groups = re.findall(r"^(\w.*):$", text, re.MULTILINE)
        self.assertEqual(groups, ["Options", "Offload CUDA programs", "Split models", "Augmented reality", "Pipelines",
                                  "Tools"])

    def test_another_shell_is_refused(self):
        done = self.command("completion", "fish")
        self.assertEqual(done.returncode, 2)
        self.assertIn("{bash,zsh}", done.stderr)


if __name__ == "__main__":
    unittest.main()
