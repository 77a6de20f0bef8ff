"""In-memory index of a catalogue for searches: names, required arguments, and the noise level of its vectors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from athand.bounded_cache import BoundedCache
from athand.embed import Embedder
from athand.store import Row, Snapshot
from athand.text import split_identifier
from athand.tools import rows
from athand.tools.access import reachable_servers
from athand.tools.query_embedding import embed_noise_queries
from athand.tools.scoring import INDEX
from athand.types import Query, Vector

_CACHED = 16  # sets of catalogues that are cached
_MOST_WORDS = 6  # words of a server name that is recognised, and of a tool name that may be misspelt
# Words of server names that nobody says: "arxiv" is enough for mcp-simple-arxiv.
_UNSAID = frozenset("mcp server servers simple client tool tools api official local remote".split())
_SHORTEST = 4  # letters of a name that may be misspelt

ToolKey = tuple[str, str]  # catalogue and tool id


@dataclass(frozen=True, slots=True)
class CatalogueIndex:
    """Names, required arguments and noise level of the searchable tools of some catalogues."""

    keys: Sequence[ToolKey]
    names: Sequence[str]  # the words of each tool name
    by_name: Mapping[str, Sequence[ToolKey]]  # with and without the name of the server in front
    servers: Mapping[str, Sequence[str]]  # server names by what they are called, without spaces
    longest: int
    required: Mapping[ToolKey, int]  # how many arguments each tool requires
    noise: float  # median cosine of the nearest tool to queries that no tool is for
    is_settled: bool  # False while vectors are missing: the noise is then unknown and counted as 0
    hidden: frozenset[ToolKey]  # tools of servers that are hidden by one of the same name in an earlier catalogue

    def find_named(self, request: str) -> Mapping[ToolKey, int]:
        """Tools whose name is the whole request, with the number of typos in it."""
        if len(request) > 2 * self.longest:
            return {}
        words = name_key(request)
        found = self.by_name.get(words, ())
        return {key: 0 for key in found} or self._find_misspelt(words)

    def find_servers(self, request: str) -> set[str]:
        """The servers whose names occur in the request, also in part or as separate words."""
        words = name_key(request).split()
        runs = ((at, end) for at in range(len(words)) for end in range(at + 1, at + _MOST_WORDS + 1))
        return {server for at, end in runs for server in self.servers.get("".join(words[at:end]), ())}

    def find_similar(self, request: str, most: int) -> list[ToolKey]:
        """The tools whose names are most similar to a short request, best first (rapidfuzz ratio)."""
        if not self.names or len(request) > self.longest + 2:
            return []
        from rapidfuzz import fuzz, process

        near = process.extract(name_key(request), self.names, scorer=fuzz.ratio, limit=most, score_cutoff=60)
        return [self.keys[at] for _, _, at in near]

    def _find_misspelt(self, words: str) -> dict[ToolKey, int]:
        most = 0 if len(words) < _SHORTEST else 1 if len(words) <= 8 else 2
        if not most or not self.by_name or words.count(" ") >= _MOST_WORDS:
            return {}
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import cdist

        names = list(self.by_name)
        edits = cdist([words], names, scorer=OSA.distance, score_cutoff=most)[0]
        least = int(edits.min())
        near = np.flatnonzero(edits == least).tolist() if least <= most else []
        return {key: least for at in near for key in self.by_name[names[at]]}


class CatalogueIndexCache:
    """Cache of indexes by catalogues, model and reachable servers; rebuilt when a generation changes."""

    def __init__(self) -> None:
        self._indexes: BoundedCache[tuple[object, ...], tuple[object, CatalogueIndex]] = BoundedCache(_CACHED)
        self._probes: dict[str, Sequence[Vector]] = {}

    def load_probes(self, model: Embedder) -> None:
        """Embed the noise queries with this model, once."""
        if model.model_id not in self._probes:
            self._probes[model.model_id] = embed_noise_queries(model)

    def get(self, snapshot: Snapshot, spaces: tuple[str, ...] | None, model_id: str | None) -> CatalogueIndex:
        """The current index of these catalogues."""
        key, state = (spaces, model_id, reachable_servers()), rows.get_generations(snapshot, spaces)
        before = self._indexes.get(key)
        if before is not None and before[0] == state:
            return before[1]
        index = _build_index(snapshot, spaces, model_id, self._probes.get(model_id or "", ()))
        if index.is_settled:
            self._indexes.put(key, (state, index))
        return index


def name_key(name: str) -> str:
    """The words of a name, so that spellings like `git_log` and `gitLog` are equal."""
    return " ".join(split_identifier(name))


def _server_names(server: str) -> set[str]:
    """What a server is called: its whole name, and what is left without the words that nobody says."""
    words = name_key(server).split()
    said = [word for word in words if word not in _UNSAID]
    return {"".join(words), "".join(said)} - {""}


def _build_index(
    snapshot: Snapshot, spaces: tuple[str, ...] | None, model_id: str | None, probes: Sequence[Vector]
) -> CatalogueIndex:
    tool_rows = rows.list_searchable(snapshot, spaces)
    hidden = rows.hidden_servers(snapshot, spaces)
    servers: dict[str, list[str]] = {}
    for server in sorted({row[2] for row in tool_rows}):
        for called in _server_names(server):
            servers.setdefault(called, []).append(server)
    names = [name_key(name) for *_, name, _ in tool_rows]
    by_name = _group_by_name(tool_rows, names)
    noise = _measure_noise(snapshot, spaces, model_id, probes)
    return CatalogueIndex(
        keys=[(space, id_) for space, id_, *_ in tool_rows],
        names=names,
        by_name=by_name,
        servers=servers,
        longest=max(map(len, by_name), default=0),
        required={(space, id_): _count_required(definition) for space, id_, *_, definition in tool_rows},
        noise=noise or 0.0,
        is_settled=noise is not None,
        hidden=frozenset((space, id_) for space, id_, server, *_ in tool_rows if (space, server) in hidden),
    )


def _group_by_name(tool_rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[ToolKey]]:
    """Tools by each of their names: the name alone, with the server in front, and the id."""
    found: dict[str, list[ToolKey]] = {}
    for (space, id_, server, *_), name in zip(tool_rows, names, strict=True):
        for each in filter(None, {name, f"{name_key(server)} {name}".strip(), name_key(id_)}):
            found.setdefault(each, []).append((space, id_))
    return found


def _count_required(definition: str) -> int:
    """How many arguments a tool requires; none are known of a damaged row, which is named where it is shown."""
    try:
        required = json.loads(definition)["inputSchema"]["required"]
    except (ValueError, TypeError, KeyError):
        return 0
    return len(required) if isinstance(required, list) else 0


def _measure_noise(
    snapshot: Snapshot, spaces: tuple[str, ...] | None, model_id: str | None, probes: Sequence[Vector]
) -> float | None:
    """The median cosine of the nearest tool to the noise queries; None while vectors are missing."""
    nearest = []
    for vector in probes if model_id else ():
        query = Query("", (), vector, model_id, spaces, rows.SEARCHED, candidates=1)
        found = snapshot.candidates(INDEX, query)
        if not found.by_vector:
            return None
        nearest.append(max((each.cosine or 0.0 for each in found.passages), default=0.0))
    return float(np.median(nearest)) if nearest else 0.0
