#!/usr/bin/env python3
"""Makes a wheel of a build: the package, the program, its scenarios, the libraries that it opens, and those
that they all link.

  python/make_wheel.py build/release [FOLDER]

Writes simsgd-VERSION-py3-none-manylinux_2_GLIBC_MACHINE.whl into build/release/packages, or FOLDER, and prints its path. The same bytes for the
same build. MPI's program is left out: it belongs to the machine's MPI."""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True  # beside the sources
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from simsgd import __version__ as version  # noqa: E402

# What every Linux has, as manylinux (PEP 600) lists it.
OF_THE_SYSTEM = re.compile(r"(ld-linux|linux-vdso|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s)\.so)")


def libraries(program):
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        found = re.match(r"\s*(\S+) => (/\S+)", line)
        if found and not OF_THE_SYSTEM.match(found[1]):
            yield found[1], found[2]


def contents(build, package, folder):
    """Names in the wheel and files."""
    subprocess.run(["cmake", "--install", build, "--prefix", folder, "--strip"], check=True, stdout=subprocess.DEVNULL)
    program = os.path.join(folder, "bin", "simsgd")
    files = {f"simsgd/{name}": os.path.join(package, name) for name in os.listdir(package) if name.endswith(".py") or name == "py.typed"}
    files["simsgd/bin/simsgd"] = program
    for place, _, names in [*os.walk(os.path.join(folder, "share", "simsgd")), *os.walk(os.path.join(folder, "lib", "simsgd"))]:
        files.update({"simsgd/" + os.path.relpath(os.path.join(place, name), folder): os.path.join(place, name) for name in names})
    for binary in [program, *(path for name, path in files.items() if name.startswith("simsgd/lib/"))]:
        files.update({f"simsgd/lib/{name}": path for name, path in libraries(binary)})
    return files


def main(build, target):
    package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "simsgd")
    tag = f"py3-none-manylinux_{platform.libc_ver()[1].replace('.', '_')}_{platform.machine()}"
    info = f"simsgd-{version}.dist-info"
    os.makedirs(target, exist_ok=True)
    path = os.path.join(target, f"simsgd-{version}-{tag}.whl")
    record = []
    with tempfile.TemporaryDirectory(dir=target) as folder:  # the wheel appears whole or not at all
        made = os.path.join(folder, "made.whl")
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as wheel:
            def add(name, data, mode=0o644):
                entry = zipfile.ZipInfo(name)  # of 1980: the same bytes whenever it is made
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(entry, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append(f"{name},sha256={digest},{len(data)}")
            for name, source in sorted(contents(build, package, folder).items()):
                with open(source, "rb") as file:
                    add(name, file.read(), 0o755 if name == "simsgd/bin/simsgd" else 0o644)
            add(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: simsgd\nVersion: {version}\nSummary: predicts time and convergence of "
                "distributed SGD on a GPU cluster\nLicense: MIT\nRequires-Python: >=3.9\n".encode())
            add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
            add(f"{info}/entry_points.txt", b"[console_scripts]\nsimsgd = simsgd.program:main\n")
            add(f"{info}/RECORD", ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode())
        os.replace(made, path)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not os.path.exists(os.path.join(sys.argv[1], "simsgd")):
        sys.exit("usage: make_wheel.py BUILD [FOLDER], BUILD a folder with the program built (./setup.sh build)")
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.join(sys.argv[1], "packages"))
