"""What `cmake --install` leaves for devices, and what that needs of its system: looked up in files, so it may be another
processor's or an older system's."""

import pathlib
import re
import subprocess

# What every system has, and OpenSSL.
GLIBC = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt))\.so.*")
COMMON_LIBRARIES = re.compile(GLIBC.pattern + r"|lib(gcc_s|stdc\+\+|ssl|crypto)\.so.*")
MOST_OF_A_DEVICE = 25  # MB


def install(build, root):
    """The component `device`, stripped; its files, no links."""
    subprocess.run(["cmake", "--install", build, "--prefix", root, "--strip", "--component", "device"], check=True,
                   stdout=subprocess.DEVNULL, timeout=120)
    return [file for file in pathlib.Path(root).rglob("*") if file.is_file() and not file.is_symlink()]


def is_program(file):
    """Or a library: no data, no text."""
    with file.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def elf(file, what):
    done = subprocess.run(["readelf", "--wide", what, file], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", elf(file, "--dynamic"))


def glibc(file):
    """The newest version of it that the file names: of what it needs, or of what it has."""
    names = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", elf(file, "--version-info"))
    return max(tuple(map(int, name)) for name in names)


def libraries(programs, sysroot):
    """What they load of their system, directly or not, besides what every system has; links are followed."""
    names = {file.name for file in programs}
    waiting, found = set().union(*map(needed, programs)) - names, {}
    while waiting:
        name = waiting.pop()
        if COMMON_LIBRARIES.fullmatch(name) or name in found:
            continue
        folders = "usr/lib/*", "lib/*"
        found[name] = next(file for folder in folders for file in sysroot.glob(f"{folder}/{name}")).resolve()
        waiting |= set(needed(found[name])) - names
    return set(found.values())


def megabytes(files):
    return sum(file.stat().st_size for file in files) / 1e6
