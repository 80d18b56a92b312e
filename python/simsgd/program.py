"""The program `simsgd`: where it is, and workers of it that are kept, one for each thread that calls.

A worker is `simsgd worker`, started afresh and never forked from this process. It takes command lines as JSON lines and
runs each in a child of its own."""

import atexit
import json
import os
import select
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from pathlib import Path
from typing import Callable, Optional, Sequence

from .errors import InputError, Problem, ProgramError, RunFailed
from .version import __version__

_PATIENCE_S = 10.0  # for an interrupted run to put its results away


def find_program() -> str:
    """The program: the environment's SIMSGD, else the one in this package (of a wheel) or beside it (of a build), else the
    one on PATH."""
    own = os.environ.get("SIMSGD")
    if own:
        if not os.access(own, os.X_OK) or os.path.isdir(own):
            raise ProgramError(f"The environment's SIMSGD is {own!r}, which is not a program. Name the file `simsgd`.")
        return own
    here = Path(__file__).resolve().parent
    for place in (here / "bin" / "simsgd", here.parents[1] / "build" / "release" / "simsgd"):
        if os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("simsgd")
    if not found:
        raise ProgramError("The program simsgd was not found in this package, beside it, or on PATH. Install the wheel, build "
                           "it (./setup.sh build), or set SIMSGD to its path.")
    return found


def environment(program: str) -> dict:
    """What the program is started with: the libraries of a wheel, and for methods in Python this interpreter, where it is a
    library, with the packages that it sees."""
    own = dict(os.environ)
    libraries = Path(program).resolve().parents[1] / "lib"
    if libraries.parent == Path(__file__).resolve().parent:
        own["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(libraries), own.get("LD_LIBRARY_PATH")]))
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    for place in (library, library.replace("/lib/", f"/lib/{sysconfig.get_config_var('MULTIARCH')}/")):
        if ".so" in place and os.path.exists(place):
            own.setdefault("SIMSGD_LIBPYTHON", place)
            own.setdefault("SIMSGD_PYTHON_PATH", os.pathsep.join(map(os.path.abspath, sys.path)))
            break
    return own


class _Worker:
    """One `simsgd worker` and the pipes to it."""

    def __init__(self):
        self.program = find_program()
        self.received = b""
        try:
            self.process = subprocess.Popen([self.program, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, start_new_session=True, bufsize=0,
                                            env=environment(self.program))
        except OSError as error:
            raise ProgramError(f"{self.program} cannot be started: {error.strerror}") from None
        _alive.add(self)
        hello = self.line(None) or {}
        if hello.get("simsgd") != __version__:
            self.close()
            theirs = f"is version {hello['simsgd']}" if "simsgd" in hello else f"is no simsgd of today ({self.said or 'silent'})"
            raise ProgramError(f"{self.program} {theirs}, and this package is {__version__}. Install both from one build.")

    def send(self, request: dict) -> None:
        data = json.dumps(request).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self.process.stdin.fileno(), data):]
        except BrokenPipeError:
            pass  # its end is seen where the answer is read

    def line(self, until: Optional[float]) -> Optional[dict]:
        """Its next line; None at its end, or when `until` has passed."""
        file = self.process.stdout.fileno()
        while b"\n" not in self.received:
            if until is not None and not select.select([file], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            got = os.read(file, 1 << 20)
            if not got:
                return None
            self.received += got
        line, self.received = self.received.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            return None

    def answer(self, until: Optional[float], said: Callable[[str], None]) -> Optional[dict]:
        while True:
            line = self.line(until)
            if line is None or "exit_code" in line:
                return line
            said(line["said"])

    def close(self) -> None:
        _alive.discard(self)
        self.process.stdin.close()  # at which it ends
        self.process.stdout.close()  # and with it what it runs
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.said = self.process.stderr.read().decode(errors="replace").strip()
        self.process.stderr.close()

    def how_it_ended(self) -> str:
        self.close()
        code = self.process.returncode
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


_alive = weakref.WeakSet()
_idle = []
_lock = threading.Lock()


def _forget() -> None:
    """In a forked process: the workers are the parent's."""
    global _lock
    _lock = threading.Lock()
    for worker in list(_alive):
        worker.process.stdin.close()
        worker.process.stdout.close()
        worker.process.stderr.close()
        worker.process.returncode = 0  # not ours to wait for
    _alive.clear()
    _idle.clear()


def _close_all() -> None:
    while _idle:
        _idle.pop().close()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close_all)


def _raise(arguments: Sequence[str], answer: dict, said: Sequence[str]) -> None:
    text = "\n".join(said).strip() or f"simsgd {arguments[0]} ended with exit code {answer['exit_code']}"
    if answer.get("errors"):
        raise InputError("\n".join(each["text"] for each in answer["errors"]),
                         [Problem(*(each[key] for key in Problem._fields)) for each in answer["errors"]])
    if answer["exit_code"] == 2:
        raise InputError(text)
    raise RunFailed(answer.get("died") or text, answer["exit_code"], answer["output"])


def command(*arguments: str, input: str = "", said: Optional[Callable[[str], None]] = None,
            allowed: Sequence[int] = (0,)) -> str:
    """Runs `simsgd ARGUMENTS` and returns what it prints. `input`: what it reads as `-`. `said` is told each line of its
    stderr. An exit code that is not `allowed` is an exception. From several threads the commands run side by side."""
    lines = []

    def hear(line: str) -> None:
        lines.append(line)
        if said:
            said(line)

    with _lock:
        worker = _idle.pop() if _idle else None
    if worker is not None and worker.process.poll() is not None:
        worker.close()
        worker = None
    worker = worker or _Worker()
    try:
        worker.send({"id": 0, "arguments": [str(each) for each in arguments], "input": input, "directory": os.getcwd()})
        answer = worker.answer(None, hear)
    except BaseException:  # Ctrl-C: the program puts away what it has
        worker.send({"interrupt": True})
        if worker.answer(time.monotonic() + _PATIENCE_S, lambda line: None) is None:
            worker.close()
        else:
            _keep(worker)
        raise
    if answer is None:
        raise ProgramError(f"The program {worker.how_it_ended()} while it ran `simsgd {' '.join(map(str, arguments))}`. "
                           "The next call starts it again.")
    _keep(worker)
    if answer["exit_code"] not in allowed:
        _raise(arguments, answer, lines)
    return answer["output"]


def _keep(worker: _Worker) -> None:
    with _lock:
        _idle.append(worker)
