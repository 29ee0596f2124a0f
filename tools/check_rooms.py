#!/usr/bin/env python3
"""Checks that the tree is the plan of docs/architecture.md: a room is a folder is a target, and arrows point down.

  tools/check_rooms.py              say what is wrong; exit code 1 if anything is
  tools/check_rooms.py --dot FILE   also draw which room includes which, for Graphviz (dot -Tsvg FILE)

What is checked, for every folder under wharf/ that has sources:
- it is a room: it has a CMakeLists.txt of its own (folders of generated files and of tests' helpers need none);
- what its sources include is in rooms that it declares, or that these pass on; its headers may not lean on private ones;
- the rooms that it includes stand before it in the order of the CMakeLists.txt files: no arrow upwards, no circle;
- a source includes its own header first;
- it has at most 40 source files.
- the page has a line of it, and none of a folder that is not there.
Tests may use whatever stands on their room.
"""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_FILES = 40
SOURCE = re.compile(r"\.(h|cc|cu|cuh)$")
# Files that only tests, benchmarks and fuzz targets are made of, by the rules of HACKING.md.
TEST_FILE = re.compile(r"(_test|_benchmark|_fuzz|testing|random_graph|log_generator)\.(h|cc|cu)$|(^|/)(testing|generated)/|"
                       r"(^|/)(fake_device|device_conformance|onnx_case|test_util|test_network\w*|native_loops)\.")
INCLUDE = re.compile(r'^#include "(wharf/[^"]+)"', re.M)
KEYWORDS = {"SOURCES", "DEPS", "PRIVATE_DEPS"}


def files(root):
    """Every file under a folder of the project, as a path relative to it."""
    yield from sorted(path.relative_to(ROOT) for path in (ROOT / root).rglob("*") if path.is_file())


def calls(text, function):
    """The arguments of every call of a CMake function, as lists of words."""
    text = re.sub(r"#.*", "", text)
    return [match.group(1).split() for match in re.finditer(rf"\b{function}\(([^)]*)\)", text)]


def by_keyword(words):
    found, keyword = collections.defaultdict(list), ""
    for word in words:
        keyword = word if word in KEYWORDS else keyword
        if word not in KEYWORDS:
            found[keyword].append(word)
    return found


class House:
    def __init__(self):
        self.errors = []
        self.files = collections.defaultdict(list)  # by folder, relative to wharf/
        for path in files("wharf"):
            if SOURCE.search(path.name):
                self.files[str(path.parent.relative_to("wharf"))].append(path.name)
        self.public, self.private = {}, {}  # by folder: what its target declares, as folders
        self.commands = set()  # folders that have commands of a program
        self.order = []
        self.walk(ROOT / "wharf")

    def walk(self, folder):
        """Reads CMakeLists.txt files in the order in which CMake does."""
        text = (folder / "CMakeLists.txt").read_text()
        name = str(folder.relative_to(ROOT / "wharf"))
        text = re.sub(r"#.*", "", text)
        for match in re.finditer(r"\b(wharf_room|add_subdirectory|foreach)\(([^)]*)\)", text):
            words = match.group(2).split()
            if match.group(1) == "wharf_room":
                self.order.append(name)
            elif match.group(1) == "foreach" and words[0] == "kind":  # wharf/cli lists its folders
                for kind in words[1:]:
                    self.enter(folder / kind)
            elif match.group(1) == "add_subdirectory" and "$" not in words[0]:
                self.enter(folder / words[0])
        if "wharf_commands(" in text:
            self.commands.add(name)
        public, private = set(), set()
        for call in calls(text, "wharf_room"):
            public |= set(by_keyword(call)["DEPS"])
            private |= set(by_keyword(call)["PRIVATE_DEPS"])
        mentioned = set(re.findall(r"\bwharf::\w+", text))
        if name in self.order:
            private |= mentioned
        else:  # a program's sources, or a library that is no archive
            public |= mentioned
        self.public[name], self.private[name] = self.folders(public), self.folders(private)
        if name not in self.order:
            self.order.append(name)

    def enter(self, folder):
        if (folder / "CMakeLists.txt").is_file():
            self.walk(folder)

    def folders(self, targets):
        known = {str(folder).replace("/", "_"): str(folder) for folder in self.files}
        return {known[t.removeprefix("wharf::")] for t in targets if t.removeprefix("wharf::") in known}

    def passed_on(self, folder, private):
        """Every folder whose headers a room may include, by what it declares and what that passes on."""
        reached, waiting = set(), list(self.public.get(folder, set()) | (self.private.get(folder, set()) if private else set()))
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached.add(one)
                waiting += self.public.get(one, set())
        return reached

    def includes(self, folder, name):
        text = (ROOT / "wharf" / folder / name).read_text()
        for path in INCLUDE.findall(text):
            yield str(pathlib.PurePosixPath(path).parent.relative_to("wharf")).replace("/generated", "")

    def check(self):
        arrows = collections.defaultdict(set)
        for folder, names in sorted(self.files.items()):
            if len(names) > MOST_FILES:
                self.errors.append(f"wharf/{folder} has {len(names)} source files: at most {MOST_FILES}")
            helper = re.search(r"(^|/)(testing|generated|testdata)(/|$)", folder)
            if folder not in self.public and not helper:
                self.errors.append(f"wharf/{folder} has no CMakeLists.txt: a folder is a room")
            for name in names:
                self.check_first_include(folder, name)
                if helper or TEST_FILE.search(name) or folder not in self.public:
                    continue
                allowed = self.passed_on(folder, private=folder in self.commands or not name.endswith(".h"))
                for other in self.includes(folder, name):
                    if other == folder:
                        continue
                    arrows[folder].add(other)
                    if other not in allowed:
                        self.errors.append(f"wharf/{folder}/{name} includes wharf/{other}, which its room does not declare")
        place = {folder: i for i, folder in enumerate(self.order)}
        for folder, others in arrows.items():
            for other in others:
                if place.get(other, -1) > place[folder]:
                    self.errors.append(f"wharf/{folder} points upwards, to wharf/{other}")
        self.check_page()
        return arrows

    def check_first_include(self, folder, name):
        path = ROOT / "wharf" / folder / name
        own = path.with_suffix(".h")
        if path.suffix == ".cc" and own.is_file():
            first = re.search(r'^#include\s+["<]([^">]+)', path.read_text(), re.M)
            if not first or first.group(1) != str(own.relative_to(ROOT)):
                self.errors.append(f"{path.relative_to(ROOT)} does not include its own header first")

    def check_page(self):
        listed = set(re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs/architecture.md").read_text(), re.M))
        for folder in sorted(set(self.order) & set(self.files) - listed):
            self.errors.append(f"wharf/{folder} has no line in docs/architecture.md")
        for folder in sorted(listed):
            if not (ROOT / "wharf" / folder).is_dir() and not (ROOT / folder).is_dir():
                self.errors.append(f"docs/architecture.md has a line of {folder}, which is not there")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dot", metavar="FILE", help="draw which room includes which")
    arguments = parser.parse_args()
    house = House()
    arrows = house.check()
    if arguments.dot:
        lines = ["digraph rooms {", "  rankdir=BT; node [shape=box];"]
        lines += [f'  "{a}" -> "{b}";' for a in sorted(arrows) for b in sorted(arrows[a])]
        pathlib.Path(arguments.dot).write_text("\n".join(lines + ["}"]) + "\n")
    for error in house.errors:
        print(error, file=sys.stderr)
    if not house.errors:
        print(f"{len(house.order)} rooms, {sum(map(len, arrows.values()))} arrows, all downwards")
    return 1 if house.errors else 0


if __name__ == "__main__":
    sys.exit(main())
