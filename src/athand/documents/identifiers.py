"""Identifiers: those that a question names, and the words in the name of a file."""

import re
from functools import lru_cache

from athand.text import analyze, split_identifier, stems

_IDENTIFIER = re.compile(r"`([^`\s]{1,100})`|([A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*)(\(\))?")
_BETWEEN = re.compile(r"\.|::|->|#|\(\)")
_LOOKS_LIKE_CODE = re.compile(r"^_|\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]")
# Who asks where something is used does not look for its definition.
_USES = re.compile(r"(?i)\b(?:rais|call|throw|import|invok|emit|caught|us(?:e[ds]?|ing|ages?)\b)")
# Names of files that say less than the name of their folder.
_TELLS_NOTHING = frozenset({"__init__", "__main__", "index", "init", "lib", "main", "mod"})


def defined_identifiers(question: str) -> list[str]:
    """The identifiers whose definition a question asks for, each as the joined terms that an index has of it."""
    is_one_word = len(question.split()) == 1
    if not is_one_word and _USES.search(question):
        return []
    found = []
    for match in _IDENTIFIER.finditer(question):
        parts = [part for part in _BETWEEN.split(match[1] or match[2]) if part]
        is_code = bool(match[1] or match[3] or is_one_word or len(parts) > 1)
        found += [analyze(part)[0] for part in parts if is_code or _LOOKS_LIKE_CODE.search(part)]
    return [each for each in dict.fromkeys(found) if each]


@lru_cache(maxsize=10_000)
def stem_terms(path: str) -> tuple[str, ...]:
    """The terms of a file's name without its ending; of its folder, where that tells more."""
    *folders, name = path.split("/")
    stem = name[:1] + name[1:].partition(".")[0]
    if folders and stem.lower() in _TELLS_NOTHING:
        stem = folders[-1]
    return tuple(dict.fromkeys(stems(split_identifier(stem))))
