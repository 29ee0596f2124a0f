"""python -m wharf run [OPTIONS] SCRIPT.py …: `wharf run` of a Python program, by this interpreter; any other command
is `wharf`'s own.

The drop-in CUDA libraries come first for the program, so that its PyTorch computes on the server's GPU:

    python -m wharf run --server edge:7070 --token-file token train.py --epochs 3

The script is the first word that ends in .py or is -m or -c; where it has another name, `--` stands before it.
"""

import os
import sys
from typing import List, Tuple

from ._errors import NotFound
from ._programs import find_wharf


def parted(words: List[str]) -> Tuple[List[str], List[str]]:
    """Options of `wharf run`, and the script with its arguments."""
    for place, word in enumerate(words):
        if word == "--":
            return words[:place], words[place + 1:]
        if word.endswith(".py") or word in ("-m", "-c"):
            return words[:place], words[place:]
    return words, []


def main(arguments: List[str]) -> int:
    if not arguments:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        wharf = find_wharf()
    except NotFound as error:
        print(f"wharf: {error}", file=sys.stderr)
        return 127
    words = arguments
    if arguments[0] in ("run", "trace"):
        options, script = parted(arguments[1:])
        if script:
            words = [arguments[0], *options, "--", sys.executable, *script]
    sys.stdout.flush()
    os.execv(wharf, [wharf, *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
