"""The languages: which grammar goes with each."""

from athand.documents.chunking.braces import JAVA, KOTLIN, C
from athand.documents.chunking.grammar import Grammar
from athand.documents.chunking.others import ANY, OTHERS
from athand.documents.chunking.scripts import GO, PHP, PYTHON, RUBY, RUST, SCRIPT, SECTIONS
from athand.documents.chunking.tools import TOOLS

_FAMILIES = (
    (PYTHON, "python bazel gdscript"),
    (RUBY, "ruby crystal"),
    (SCRIPT, "javascript typescript"),
    (SECTIONS, "vue svelte astro"),
    (GO, "go v"),
    (RUST, "rust"),
    (JAVA, "java csharp dart groovy d"),
    (KOTLIN, "kotlin swift scala solidity"),
    (C, "c cpp objectivec cuda glsl"),
    (PHP, "php"),
    *OTHERS,
    *TOOLS,
)
_BY_LANGUAGE = {language: grammar for grammar, languages in _FAMILIES for language in languages.split()}


def grammar_of(language: str) -> Grammar:
    """The grammar for a language; for one that is not known, the keywords many have."""
    return _BY_LANGUAGE.get(language.lower(), ANY)
