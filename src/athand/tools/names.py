"""The id of a tool: `server__tool`, in the letters that every model API takes, and never the same for two tools."""

import hashlib
import re
import unicodedata

LONGEST = 64
_SERVER = re.compile(r"(?!.*__)[A-Za-z0-9_-]*[A-Za-z0-9-]")  # so that the first `__` of an id is the one between
_TOOL = re.compile(r"[A-Za-z0-9_-]+")
_LOOKS_CHANGED = re.compile(r".*-[0-9a-f]{16}", re.DOTALL)
_LONGEST_SERVER = 20


def tool_id(server: str, tool: str) -> str:
    """The id of a server's tool. Names that cannot stay as they are get a hash of both at the end."""
    plain = f"{server}__{tool}"
    if _is_plain(server, tool) and len(plain) <= LONGEST:
        return plain
    safe_server = re.sub("__+", "_", _safe(server))[:_LONGEST_SERVER].strip("_") or "server"
    room = LONGEST - len(safe_server) - len("__-") - 16
    return f"{safe_server}__{_safe(tool)[:room].strip('_') or 'tool'}-{_hash(server, tool)}"


def _is_plain(server: str, tool: str) -> bool:
    """Whether both names can be told from the id; a name that ends like a changed one is changed too."""
    is_safe = _SERVER.fullmatch(server) and _TOOL.fullmatch(tool)
    return bool(is_safe) and not _LOOKS_CHANGED.fullmatch(tool)


def _safe(name: str) -> str:
    """As much of a name as can be written in safe letters."""
    letters = unicodedata.normalize("NFKD", name[:LONGEST]).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "_", letters).strip("_")


def _hash(server: str, tool: str) -> str:
    """64 bits of the pair; the length keeps `a` + `bc` and `ab` + `c` apart."""
    pair = f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(pair).hexdigest()[:16]
