"""The program `simsgd`: where it is, and workers of it that are kept, one for each thread that calls.

A worker is `simsgd worker`, started afresh and never forked from this process. It takes command lines as JSON lines and
runs each in a child of its own."""

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import __version__
from .errors import InputError, Problem, ProgramError, RunFailed


def find_program() -> str:
    """The program: the environment's SIMSGD, else the one in this package (of a wheel) or beside it (of a build), else the
    one on PATH."""
    own, here = os.environ.get("SIMSGD"), Path(__file__).resolve().parent
    for place in [own] if own else [f"{here}/bin/simsgd", f"{here.parents[1]}/build/release/simsgd", "simsgd"]:
        found = shutil.which(place)
        if found:
            return found
    raise ProgramError(f"The environment's SIMSGD is {own!r}, which is not a program. Name the file `simsgd`." if own else
                       "The program simsgd was not found in this package, beside it, or on PATH. Install the wheel, build it "
                       "(./setup.sh build), or set SIMSGD to its path.")


def environment(program: str) -> Dict[str, str]:
    """What the program is started with: the libraries of a wheel, and for methods in Python this interpreter, where it is a
    library, with the packages that it sees."""
    own = dict(os.environ)
    libraries = Path(program).resolve().parents[1] / "lib"
    if libraries.parent == Path(__file__).resolve().parent:
        own["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(libraries), own.get("LD_LIBRARY_PATH")]))
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    for place in (library, library.replace("/lib/", f"/lib/{sysconfig.get_config_var('MULTIARCH')}/")):
        if ".so" in place and os.path.exists(place) and "SIMSGD_LIBPYTHON" not in own:
            own.update(SIMSGD_LIBPYTHON=place, SIMSGD_PYTHON_PATH=os.pathsep.join(map(os.path.abspath, sys.path)))
    return own


def main() -> None:
    """The command line of the package is the program's."""
    program = find_program()
    os.execve(program, [program, *(sys.argv[1:] or ["--help"])], environment(program))


class _Worker:
    """One `simsgd worker` and the pipes to it; `taken` by whoever waits for its answer."""

    def __init__(self) -> None:
        program = find_program()
        self.taken = threading.Lock()
        self.taken.acquire()
        try:
            self.process = subprocess.Popen([program, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, start_new_session=True, env=environment(program),
                                            encoding="utf-8", errors="replace")
        except OSError as error:
            raise ProgramError(f"{program} cannot be started: {error.strerror}") from None
        _workers.append(self)
        hello = self.line() or {}
        if hello.get("simsgd") != __version__:
            said = self.close() or "silent"
            theirs = f"is version {hello['simsgd']}" if "simsgd" in hello else f"is not a simsgd of today ({said})"
            raise ProgramError(f"{program} {theirs}, and this package is {__version__}. Install both from one build.")

    def send(self, request: Dict[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # its end is seen where the answer is read
            print(json.dumps(request), file=self.process.stdin, flush=True)

    def line(self) -> Any:
        """Its next line; None at its end, or of a program that is not a worker."""
        assert self.process.stdout
        with contextlib.suppress(ValueError):
            return json.loads(self.process.stdout.readline())

    def close(self, patience_s: float = 1.0) -> str:
        """At the end of its input it ends, once what it runs has. Returns what it said of itself."""
        if self in _workers:
            _workers.remove(self)
        try:
            said = self.process.communicate(timeout=patience_s)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = self.process.communicate()[1]
        return said.strip()


_workers: List[_Worker] = []  # lists are safe from several threads


def _forget() -> None:
    """In a forked process: the workers are the parent's."""
    while _workers:
        process = _workers.pop().process
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()
        process.returncode = 0  # not ours to wait for


def _close_all() -> None:
    while _workers:
        _workers[-1].close()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close_all)


def _take() -> _Worker:
    for worker in [*_workers]:
        if worker.taken.acquire(blocking=False):
            if worker.process.poll() is None:
                return worker
            worker.close()
    return _Worker()


def command(*arguments: Any, input: str = "", said: Optional[Callable[[str], None]] = None, allowed: Sequence[int] = (0,)) -> str:
    """Runs `simsgd ARGUMENTS` and returns what it prints. `input`: what it reads as `-`. `said` is told each line of its
    stderr. An exit code that is not `allowed` is an exception. From several threads the commands run side by side."""
    words, lines = [str(each) for each in arguments], []
    worker = _take()
    try:
        worker.send({"id": 0, "arguments": words, "input": input, "directory": os.getcwd()})
        answer = worker.line()
        while answer and "said" in answer:
            lines.append(answer["said"])
            if said:
                said(lines[-1])
            answer = worker.line()
    except BaseException:  # Ctrl-C: the program puts away what it has
        worker.send({"interrupt": True})
        worker.close(patience_s=10.0)
        raise
    if not answer:
        worker.close()
        code = worker.process.returncode
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise ProgramError(f"The program {ended} while it ran `simsgd {' '.join(words)}`. The next call starts it again.")
    worker.taken.release()
    code = answer["exit_code"]
    if code in allowed:
        return str(answer["output"])
    problems = [Problem(**each) for each in answer.get("errors", [])]
    text = "\n".join([each.text for each in problems] or lines).strip() or f"simsgd {words[0]} ended with exit code {code}"
    if code == 2:
        raise InputError(text, problems)
    raise RunFailed(answer.get("died") or text, code, answer["output"])
