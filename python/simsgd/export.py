"""Curves for other programs, without their libraries."""

import os
import struct
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

from .output import output

Curves = Mapping[str, Sequence[Tuple[float, float]]]


def history(curves: Curves) -> List[Dict[str, Any]]:
    """A row an instant, in order of time, as W&B's history has them."""
    rows: Dict[float, Dict[str, Any]] = {}
    for name, points in curves.items():
        for time_s, value in points:
            rows.setdefault(time_s, {"simulated_time_s": time_s})[name] = value
    return [{"_step": step, **rows[time_s]} for step, time_s in enumerate(sorted(rows))]


def masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _record(event: bytes) -> bytes:
    """A TFRecord: length, its check, the event, its check."""
    length = struct.pack("<Q", len(event))
    return length + struct.pack("<I", masked_crc32c(length)) + event + struct.pack("<I", masked_crc32c(event))


def write_events(curves: Curves, directory: Union[str, "os.PathLike[str]"]) -> str:
    """TensorBoard's event file: protocol buffers of tensorflow/core/util/event.proto (wall_time 1, step 2, file_version 3,
    summary 5) and summary.proto (value 1: tag 1, simple_value 2)."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "events.out.tfevents.0.simsgd")
    with output(path, "wb") as file:
        file.write(_record(b"\x09" + struct.pack("<d", 0) + _field(3, b"brain.Event:2")))
        for name, points in curves.items():
            for time_s, value in points:
                summary = _field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", value))
                file.write(_record(b"\x09" + struct.pack("<d", time_s) + b"\x10" + _varint(round(time_s * 1000)) + _field(5, summary)))
    return path
