"""A reader for the safetensors format: a JSON header, then raw arrays; nothing in it can run."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from athand.errors import DataError

_DTYPES = {"I8": np.int8, "U8": np.uint8, "F16": np.float16, "F32": np.float32, "I32": np.int32, "I64": np.int64}


def load_safetensors(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """All tensors of the file, memory-mapped."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    try:
        size = struct.unpack("<Q", data[:8].tobytes())[0]
        header = json.loads(data[8 : 8 + size].tobytes())
        header.pop("__metadata__", None)
        return {name: _tensor(data[8 + size :], entry) for name, entry in header.items()}
    except (struct.error, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path.name} is not a safetensors file ({error}). Install the model again.") from error


def _tensor(body: np.ndarray[Any, Any], entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    start, end = entry["data_offsets"]
    return body[start:end].view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
