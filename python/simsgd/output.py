"""Where a file is written to: one function for all outputs, by the rules of the program's (results/atomic_file.hpp)."""

import contextlib
import os
import stat
import tempfile
from typing import IO, Any, Iterator, Union


@contextlib.contextmanager
def output(path: Union[str, "os.PathLike[str]"], mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears whole or not at all, under a temporary name that nobody else has until then. A link stays one, and
    what it names is written; a device or a pipe is written into."""
    target = os.path.realpath(path)
    encoding = None if "b" in mode else "utf-8"
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, mode, encoding=encoding) as file:
            yield file
        return
    descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        with open(descriptor, mode, encoding=encoding) as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _permissions(target))
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _permissions(target: str) -> int:
    """Those of the file that is there, or of a new one."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(os.stat(target).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
