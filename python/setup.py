"""What pyproject.toml cannot say: a wheel that is built with WHARF_BIN set looks for Wharf's programs there, too."""

import os
import pathlib

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildPy(build_py):
    def run(self):
        super().run()
        if os.environ.get("WHARF_BIN"):
            built = pathlib.Path(self.build_lib) / "wharf" / "_built.py"
            built.write_text(f'"""Where Wharf\'s programs were when this was built."""\n\n'
                             f'BIN = {os.path.abspath(os.environ["WHARF_BIN"])!r}\n')


setup(cmdclass={"build_py": BuildPy})
