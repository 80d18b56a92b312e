"""Where a file is written to: one function for all outputs, by the rules of the program's (results/atomic_file.hpp)."""

import contextlib
import os
import shutil
from typing import IO, Any, Iterator, Union


@contextlib.contextmanager
def output(path: Union[str, "os.PathLike[str]"], mode: str = "w") -> Iterator[IO[Any]]:
    """A file that appears whole or not at all, under a temporary name that nobody else has until then. A link stays one, and
    what it names is written; a device or a pipe is written into."""
    target = os.path.realpath(path)
    new = not os.path.exists(target)
    whole = new or os.path.isfile(target)
    written = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(8).hex()}") if whole else target
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
    with open(written, mode.replace("w", "x") if whole else mode, encoding=encoding, newline=newline) as file:
        try:
            yield file
            file.flush()
            if whole:
                os.fsync(file.fileno())
                if not new:
                    shutil.copymode(target, written)
                os.replace(written, target)
        except BaseException:
            if whole:
                os.unlink(written)
            raise
