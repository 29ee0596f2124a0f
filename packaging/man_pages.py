#!/usr/bin/env python3
"""Pages of manual, made from what the commands say of themselves: man_pages.py WHARF FOLDER.

One page a group of commands as `wharf --help` shows them, and for every command a name by which it is found.
"""

import json
import pathlib
import re
import subprocess
import sys

PAGES = {"Offload CUDA programs": "offload", "Split models": "split", "Augmented reality": "ar",
         "Pipelines": "pipeline", "Tools": "tools"}
COLUMN = 34  # of bytes: where descriptions begin (wharf/cli/common/app.cc)


def escaped(text):
    text = text.replace("\\", r"\e")
    for plain, roff in (("-", r"\-"), ("~", r"\(ti"), ("^", r"\(ha"), ("`", r"\(ga"), ("'", r"\(aq")):
        text = text.replace(plain, roff)
    return "\\&" + text if text.startswith(".") else text


def as_it_is(lines):
    return [".PP", ".nf", *map(escaped, lines), ".fi"]


def entries(lines):
    """Terms, with what is said of each: behind it, or in the next line where there is no room."""
    page = []
    for line, following in zip(lines, [*lines[1:], ""]):
        term, text = (line.encode()[part].decode().strip() for part in (slice(COLUMN), slice(COLUMN, None)))
        if following.startswith(" " * COLUMN):
            term, text = line.strip(), ""
        if term:
            page += [".TP", ".B " + escaped(term)]
        if text:
            page.append(escaped(text))
    return page


def body(help_text):
    """A command's help: what it is for, its usage, lists under headings, and more."""
    page = []
    for block in re.split(r"\n\n+", help_text.strip("\n")):
        lines = block.split("\n")
        if re.fullmatch(r"[A-Z][\w ]*:", lines[0]) and all(line.startswith("  ") for line in lines[1:]):
            page += [".PP", f".B {escaped(lines[0])}", *entries(lines[1:])]
            continue
        usage = [line for line in lines if line.startswith("Usage: ")]
        rest = [line for line in lines if line not in usage]
        page += as_it_is(rest) if len(rest) > 1 else [".PP", *map(escaped, rest)]
        page += [line for each in usage for line in (".PP", ".B " + escaped(each))]
    return page


def title(name, summary, version):
    return [f'.TH {escaped(name).upper()} 1 "" "{version}"', ".nh", ".ad l",
            ".SH NAME", f"{escaped(name)} \\- {escaped(summary)}"]


def pages(described, version):
    """Every page's name and lines."""
    helps = {row["path"]: row["help"] for row in described}
    summary = helps[""].split(":")[0].split(".")[0].replace("\n", " ").replace("Wharf lets", "let", 1)
    groups = dict(re.findall(r"^(\S.*):\n((?:  .*\n?)+)", helps[""], re.MULTILINE))
    groups = {PAGES[name]: re.findall(r"^  (\w\S*)", text, re.MULTILINE)
              for name, text in groups.items() if name != "Options"}
    others = ", ".join(rf"\fBwharf\-{name}\fR(1)" for name in groups)
    yield "wharf", [*title("wharf", summary, version), ".SH DESCRIPTION", *body(helps[""]), ".SH SEE ALSO", others]
    for name, commands in groups.items():
        page = title(f"wharf-{name}", ", ".join(f"wharf {command}" for command in commands), version)
        for path, text in helps.items():
            if path.split()[:1] and path.split()[0] in commands:
                page += [".SH " + escaped("wharf" + path), *body(text)]
        yield f"wharf-{name}", [*page, ".SH SEE ALSO", r"\fBwharf\fR(1)"]
        for command in commands:
            if command != name:
                yield f"wharf-{command}", [f".so man1/wharf-{name}.1"]


def main(wharf, folder):
    def say(*words):
        return subprocess.run([wharf, *words], check=True, capture_output=True, text=True, env={"HOME": "/~"}).stdout

    # Defaults are those of whoever reads the page, not of whoever makes it.
    described = say("describe").replace("/~/", "~/").replace(f"{pathlib.Path(wharf).resolve().parents[1]}/", "")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in pages(json.loads(described), say("--version").strip()):
        (folder / f"{name}.1").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
