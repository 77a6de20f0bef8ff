"""Grammars of what is run, queried, built or styled: shells, SQL, styles, schemas, build files."""

import re

from athand.documents.chunking.grammar import (
    BLOCK_COMMENT,
    CAPITALS,
    CONTAINER,
    DASH_COMMENT,
    FUNCTION,
    HASH_COMMENT,
    LEAF,
    LINE_COMMENT,
    LONG_STRING,
    QUOTED,
    STRING,
    Grammar,
    Rule,
)

# At the left margin.
_AT_MARGIN = r"(?<=\n)(?=\S)"
_DOTTED = r"[A-Za-z_][\w.:]*"
_ANY_CASE = re.IGNORECASE

SHELL = Grammar(
    (STRING, QUOTED, r"(?<=\s)\#[^\n]*"),
    (
        Rule(FUNCTION, r"function[ \t]+", r"[\w:.-]+"),
        Rule(FUNCTION, "", r"[A-Za-z_][\w:.-]*(?=[ \t]*\([ \t]*\))"),
        Rule(LEAF, r"(?:(?:export|readonly|declare|local)[ \t]+(?:-\w+[ \t]+)?)?", rf"{CAPITALS}(?==)"),
    ),
    closer=r"(?:\}|end\b)",
    above=("#",),
)
POWERSHELL = Grammar(
    (r"<\#(?s:.*?)(?:\#>|\Z)", HASH_COMMENT, STRING, QUOTED),
    (
        Rule(CONTAINER, r"(?:class|enum)[ \t]+"),
        Rule(FUNCTION, r"(?:function|filter|workflow)[ \t]+(?:\w+:)?", r"[\w-]+"),
    ),
    above=("#", "[", "<#"),
    flags=_ANY_CASE,
)
SQL = Grammar(
    (DASH_COMMENT, BLOCK_COMMENT, QUOTED),
    (
        Rule(
            LEAF,
            r"create[ \t]+"
            r"(?:(?:or[ \t]+replace|temp|temporary|unique|materialized|external|global|recursive|unlogged|virtual|"
            r"clustered|nonclustered|definer[ \t]*=[ \t]*\S+)[ \t]+)*"
            r"(?:table|view|function|procedure|proc|index|trigger|type|schema|sequence|database|extension|domain|role|policy|"
            r"rule|aggregate|event|package(?:[ \t]+body)?)[ \t]+"
            r"(?:if[ \t]+not[ \t]+exists[ \t]+)?(?:concurrently[ \t]+)?[\"`\[]?"
            r"(?:\w+[\"`\]]?\.[\"`\[]?)*+",
        ),
        Rule(LEAF, r"(?:alter|drop)[ \t]+table[ \t]+(?:if[ \t]+exists[ \t]+)?(?:only[ \t]+)?[\"`\[]?", _DOTTED),
    ),
    closer=r"\)[ \t]*;",
    above=("--", "/*", "*"),
    flags=_ANY_CASE,
)
STYLES = Grammar(
    (BLOCK_COMMENT, r"(?<!:)" + LINE_COMMENT),
    (
        Rule(LEAF, r"@(?:mixin|function|keyframes|layer|include)[ \t]+", r"[\w-]+"),
        Rule(CONTAINER, "", r"@media[^{}\n;]{1,80}(?=\{)"),
        Rule(LEAF, "", r"[.\#&:*\[\w][^{}\n;@]{0,80}(?<=\S)(?=[ \t]*\{)"),
    ),
    above=("/*", "*", "//"),
)
SCHEMAS = Grammar(
    (LINE_COMMENT, BLOCK_COMMENT, LONG_STRING, HASH_COMMENT, STRING),
    (
        Rule(
            CONTAINER,
            r"(?:extend[ \t]+)?"
            r"(?:message|service|enum|struct|union|exception|interface|type|input|model|scalar|directive[ \t]+@|"
            r"fragment|query|mutation|subscription|datasource|generator)[ \t]+",
        ),
        Rule(FUNCTION, r"rpc[ \t]+"),
    ),
    above=("//", "/*", "*", "#", '"""'),
)
TERRAFORM = Grammar(
    (LINE_COMMENT, BLOCK_COMMENT, HASH_COMMENT),
    (
        Rule(LEAF, r"(?:resource|data)[ \t]+\"", r"[\w-]+\"[ \t]+\"[\w-]+(?=\")"),
        Rule(LEAF, r"(?<=\n)\w+[ \t]+\"", r"[\w-]+(?=\"[ \t]*\{)"),
        Rule(LEAF, _AT_MARGIN, r"[\w-]+(?=[ \t]*\{)"),
    ),
    above=("#", "//", "/*", "*"),
)
CMAKE = Grammar(
    (HASH_COMMENT, STRING),
    (
        Rule(
            FUNCTION,
            r"(?:function|macro|add_library|add_executable|add_custom_target|project)[ \t]*\([ \t]*",
            r"[\w${}:.-]+",
        ),
    ),
    closer=r"end(?:function|macro)\b",
    above=("#",),
    flags=_ANY_CASE,
)
MAKE = Grammar(
    (HASH_COMMENT,),
    (
        Rule(LEAF, _AT_MARGIN + r"(?!\.PHONY)", r"[\w.%/${}()-]+(?=[^:=\n#]{0,200}::?(?!=))"),
        Rule(LEAF, _AT_MARGIN + r"define[ \t]+"),
    ),
    closer=r"(?!)",
    above=("#", ".PHONY", "@", "["),
)
DOCKER = Grammar(
    (HASH_COMMENT,),
    (Rule(LEAF, r"from[ \t]+", r"[^\s]+(?:[ \t]+as[ \t]+\S+)?"),),
    closer=r"(?!)",
    above=("#", "ARG"),
    flags=_ANY_CASE,
)
NIX = Grammar(
    (HASH_COMMENT, BLOCK_COMMENT, STRING, r"''(?s:.*?)(?:''|\Z)"),
    (Rule(CONTAINER, "", r"[\w.-]+(?=[ \t]*=[ \t]*(?:rec[ \t]*)?(?:\{|\w+:|[\w.]+[ \t]+(?:rec[ \t]*)?\{))"),),
    above=("#",),
)
SMALL = Grammar(
    (HASH_COMMENT, STRING),
    (
        Rule(
            FUNCTION,
            r"(?:proc|function!?|func!?|def|program(?:[ \t]+define)?|command!?|class)[ \t]+(?:[sgabl]:|abort[ \t]+)?",
            r"[\w:.\#]+",
        ),
    ),
    closer=r"(?:\}|end\w*\b)",
    above=("#", '"', "*"),
)
TOOLS = (
    (SHELL, "shell"),
    (POWERSHELL, "powershell"),
    (SQL, "sql"),
    (STYLES, "css scss less"),
    (SCHEMAS, "protobuf thrift graphql prisma"),
    (TERRAFORM, "terraform"),
    (CMAKE, "cmake"),
    (MAKE, "makefile just"),
    (DOCKER, "dockerfile"),
    (NIX, "nix"),
    (SMALL, "tcl vim awk stata coffeescript"),
)
