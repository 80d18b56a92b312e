"""The program `simsgd`: where it is, and workers of it that are kept, one for each thread that calls.

A worker is `simsgd worker`, started afresh and never forked from this process. It takes command lines as JSON lines and
runs each in a child of its own."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

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


def environment(program: str) -> Dict[str, str]:
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

    def __init__(self) -> None:
        self.program, self.said = find_program(), ""
        try:
            self.process = subprocess.Popen([self.program, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, start_new_session=True, env=environment(self.program))
        except OSError as error:
            raise ProgramError(f"{self.program} cannot be started: {error.strerror}") from None
        self.pipes = [pipe for pipe in (self.process.stdin, self.process.stdout, self.process.stderr) if pipe]
        _alive.add(self)
        hello = self.line() or {}
        if hello.get("simsgd") != __version__:
            self.close()
            theirs = f"is version {hello['simsgd']}" if "simsgd" in hello else f"is not a simsgd of today ({self.said or 'silent'})"
            raise ProgramError(f"{self.program} {theirs}, and this package is {__version__}. Install both from one build.")

    def send(self, request: Dict[str, Any]) -> None:
        try:
            self.pipes[0].write(json.dumps(request).encode() + b"\n")
            self.pipes[0].flush()
        except BrokenPipeError:
            pass  # its end is seen where the answer is read

    def line(self) -> Optional[Dict[str, Any]]:
        """Its next line; None at its end, or of a program that is not a worker."""
        try:
            line: Dict[str, Any] = json.loads(self.pipes[1].readline())
            return line
        except ValueError:
            return None

    def answer(self, said: Callable[[str], None]) -> Optional[Dict[str, Any]]:
        while True:
            line = self.line()
            if line is None or "exit_code" in line:
                return line
            said(line["said"])

    def close(self, patience_s: float = 1.0) -> None:
        """At the end of its input it ends, once what it runs has."""
        _alive.discard(self)
        try:
            said = self.process.communicate(timeout=patience_s)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = self.process.communicate()[1]
        self.said = said.decode(errors="replace").strip()

    def how_it_ended(self) -> str:
        self.close()
        code = self.process.returncode
        return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


_alive: "weakref.WeakSet[_Worker]" = weakref.WeakSet()
_idle: List[_Worker] = []  # lists are safe from several threads


def _forget() -> None:
    """In a forked process: the workers are the parent's."""
    for worker in list(_alive):
        for pipe in worker.pipes:
            pipe.close()
        worker.process.returncode = 0  # not ours to wait for
    _alive.clear()
    _idle.clear()


def _close_all() -> None:
    while _idle:
        _idle.pop().close()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close_all)


def _taken() -> _Worker:
    try:
        while _idle:
            worker = _idle.pop()
            if worker.process.poll() is None:
                return worker
            worker.close()
    except IndexError:  # another thread took it
        pass
    return _Worker()


def _raise(arguments: Sequence[str], answer: Dict[str, Any], said: Sequence[str]) -> None:
    text = "\n".join(said).strip() or f"simsgd {arguments[0]} ended with exit code {answer['exit_code']}"
    if answer.get("errors"):
        raise InputError("\n".join(each["text"] for each in answer["errors"]),
                         [Problem(*(each[key] for key in Problem._fields)) for each in answer["errors"]])
    if answer["exit_code"] == 2:
        raise InputError(text)
    raise RunFailed(answer.get("died") or text, answer["exit_code"], answer["output"])


def command(*arguments: Any, input: str = "", said: Optional[Callable[[str], None]] = None, allowed: Sequence[int] = (0,)) -> str:
    """Runs `simsgd ARGUMENTS` and returns what it prints. `input`: what it reads as `-`. `said` is told each line of its
    stderr. An exit code that is not `allowed` is an exception. From several threads the commands run side by side."""
    lines: List[str] = []

    def hear(line: str) -> None:
        lines.append(line)
        if said:
            said(line)

    words = [str(each) for each in arguments]
    worker = _taken()
    try:
        worker.send({"id": 0, "arguments": words, "input": input, "directory": os.getcwd()})
        answer = worker.answer(hear)
    except BaseException:  # Ctrl-C: the program puts away what it has
        worker.send({"interrupt": True})
        worker.close(_PATIENCE_S)
        raise
    if answer is None:
        raise ProgramError(f"The program {worker.how_it_ended()} while it ran `simsgd {' '.join(words)}`. The next call starts it again.")
    _idle.append(worker)
    if answer["exit_code"] not in allowed:
        _raise(words, answer, lines)
    return str(answer["output"])
