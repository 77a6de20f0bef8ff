"""Definitions in source code, found by the regular expressions of a grammar and by indentation."""

import re
from dataclasses import dataclass, field

from athand.documents.chunking.grammar import CONTAINER, FUNCTION, MEMBER, Grammar
from athand.documents.chunking.grammars_common import GO, JAVA, KOTLIN, PHP, PYTHON, RUBY, RUST, SCRIPT, SECTIONS, C
from athand.documents.chunking.grammars_other import ANY, OTHERS, TOOLS
from athand.documents.chunking.sections import Section

_MAX_LINES_ABOVE = 40
# The quotes between the two labels of a Terraform block.
_QUOTES = re.compile(r"\"\s+\"")
_CALL_END = re.compile(r"[)\]}]+[ \t\r]*$")
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


def get_grammar(language: str) -> Grammar:
    """The grammar of a language; a generic one for unknown languages."""
    return _BY_LANGUAGE.get(language.lower(), ANY)


def find_definitions(text: str, language: str) -> list[Section]:
    """Sections for the definitions of a source text and the code between them; those inside functions are left out."""
    grammar = get_grammar(language)
    # Patterns begin with a line break, so one is put before the first line. The offset of a line break in `source` is
    # then the offset of its line in `text`.
    source = "\n" + text
    found = _DefinitionScanner(source, grammar)
    kinds = grammar.kinds
    for match in grammar.pattern.finditer(source):
        group = match.lastgroup
        if group is None:
            continue
        kind = kinds.get(group)
        if kind is None:
            found.close(match.start(), len(match[group]))
        else:
            found.open(match.start(), len(match["indent"]), kind, match[group])
    return found.sections


@dataclass(slots=True)
class _DefinitionScanner:
    """Collects definitions; `stack` holds indentation and kind of those that are open."""

    source: str
    grammar: Grammar
    sections: list[Section] = field(default_factory=list)
    stack: list[tuple[int, str]] = field(default_factory=list)
    closed: int = -1

    def open(self, line: int, indent: int, kind: str, name: str) -> None:
        """Begins a definition; closes those with the same or deeper indentation."""
        self._pop_to_indent(indent)
        inside = self.stack[-1][1] if self.stack else ""
        if (inside and inside != CONTAINER) or (kind == MEMBER and not inside):
            return
        start = self._start_with_comments(line)
        self._add_code_before(start)
        self.sections.append(Section(start, len(self.stack) + 1, _QUOTES.sub(".", name).strip(), line))
        self.stack.append((indent, FUNCTION if kind == MEMBER else kind))

    def close(self, line: int, indent: int) -> None:
        """Ends the definitions with the same or deeper indentation; following code belongs to none of them."""
        if self.stack and self.stack[-1][0] >= indent:
            self._pop_to_indent(indent)
            self.closed = line if self.grammar.closes_before else self.source.find("\n", line + 1)

    def _pop_to_indent(self, indent: int) -> None:
        while self.stack and self.stack[-1][0] >= indent:
            self.stack.pop()

    def _add_code_before(self, start: int) -> None:
        """Adds a nameless section for code between the end of a definition and the next one."""
        if 0 <= self.closed < start and self.source[self.closed : start].strip():
            self.sections.append(Section(self.closed, len(self.stack) + 1))
        self.closed = -1

    def _start_with_comments(self, line: int) -> int:
        """The start of a definition including comments, decorators and attributes directly above it."""
        floor = max(self.closed, self.sections[-1].head + 1 if self.sections else 0, 0)
        start = line
        for _ in range(_MAX_LINES_ABOVE):
            above = self._line_above(start, floor)
            if above < 0:
                break
            start = above
        return start

    def _line_above(self, line: int, floor: int) -> int:
        """The start of a comment, attribute or decorator that ends directly above a line; -1 without one."""
        above = self.source.rfind("\n", floor, line)
        if above < 0:
            return -1
        words = self.source[above + 1 : min(line, above + 200)].strip()
        if words.startswith(self.grammar.above):
            return above
        if words.endswith("*/"):
            return self.source.rfind("\n", floor, max(self.source.rfind("/*", floor, line), floor))
        return self._decorator_above(line, floor) if _CALL_END.match(words) else -1

    def _decorator_above(self, line: int, floor: int) -> int:
        """The start of a multi-line decorator that ends directly above a line; -1 without one."""
        opened = max(self.source.rfind("\n@", floor, line), self.source.rfind(" @", floor, line))
        if opened < 0 or self.source.count("\n", opened, line) > _MAX_LINES_ABOVE:
            return -1
        return self.source.rfind("\n", floor, opened + 1)
