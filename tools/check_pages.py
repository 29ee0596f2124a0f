#!/usr/bin/env python3
"""Checks the pages of the tree, all *.md. Exit code 1 if anything is wrong.

  tools/check_pages.py [WHARF]

- A link to a file or folder of the tree: it is there. With #anchor: that page has such a heading, or <a id="anchor">.
  Links to the web are not followed.
- No line but rows of tables is longer than 120 characters.
- Where the program WHARF is given: options of `wharf COMMAND …` are ones that the command's --help shows.
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_COLUMNS = 120
SKIPPED = {".git", "build", "out"}  # folders of the root: what was built or made by benchmarks
LINK = re.compile(r"\]\(<?([^)\s>]+)>?[^)]*\)")
CODE = re.compile(r"`[^`]*`")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def pages():
    found = []
    for folder, folders, names in os.walk(ROOT):
        if pathlib.Path(folder) == ROOT:
            folders[:] = [name for name in folders if name not in SKIPPED]
        found += [pathlib.Path(folder) / name for name in names if name.endswith(".md")]
    return sorted(found)


@functools.cache
def prose(page):
    """(number, line) of what is in no fence."""
    found, fenced = [], False
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            found.append((number, line))
    return found


@functools.cache
def anchors(page):
    """As GitHub makes them of headings, and those that the page sets itself."""
    found, seen = set(), {}
    for _, line in prose(page):
        found.update(re.findall(r'<a id="([^"]+)">', line))
        if heading := re.match(r"#+ +(.*)", line):
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.group(1)).strip().lower()
            name = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
            again = seen.get(name, 0)
            seen[name] = again + 1
            found.add(f"{name}-{again}" if again else name)
    return found


def check_links(page):
    for number, line in prose(page):
        for target in LINK.findall(CODE.sub("", line)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            other = (page.parent / path).resolve() if path else page
            if not other.exists():
                yield f"{number}: {target}: there is no such file"
            elif anchor and (other.suffix != ".md" or anchor not in anchors(other)):
                yield f"{number}: {target}: there is no such heading"


def check_columns(page):
    for number, line in enumerate(page.read_text().split("\n"), 1):
        if len(line) > MOST_COLUMNS and not line.lstrip().startswith("|"):
            yield f"{number}: {len(line)} characters: at most {MOST_COLUMNS}"


def options_of(wharf):
    """Of every command, by what is said behind `wharf`."""
    described = json.loads(subprocess.run([wharf, "describe"], check=True, capture_output=True, text=True).stdout)
    return {row["path"].strip(): set(OPTION.findall(row["help"])) for row in described}


def check_options(page, options):
    # A command that goes on in the next line is one; `wharf run … -- ./program --its-own` ends at the --.
    text = page.read_text()
    for command in re.finditer(r"\bwharf ([a-z](?:\\\n|[^\n`|#])*)", text):
        words = re.split(r" -- | && |; ", command.group(1))[0]
        words = words.replace("serve --ar", "ar serve")
        name = next((name for n in (2, 1) if (name := " ".join(words.split()[:n])) in options), None)
        number = text.count("\n", 0, command.start()) + 1
        for option in OPTION.findall(words) if name else ():
            if option not in options[name]:
                yield f"{number}: wharf {name} has no option {option}"


def main():
    checks = [check_links, check_columns]
    if sys.argv[1:]:
        checks.append(functools.partial(check_options, options=options_of(sys.argv[1])))
    errors = [f"{page.relative_to(ROOT)}:{error}" for page in pages() for check in checks for error in check(page)]
    for error in errors:
        print(error, file=sys.stderr)
    if not errors:
        print(f"{len(pages())} pages, nothing wrong")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
