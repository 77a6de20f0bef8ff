"""Grammars of further languages, of shells, SQL, styles, schemas and build files, and a generic one (ANY)."""

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
    DefinitionRule,
    Grammar,
    match_words,
)

# At the left margin.
_AT_MARGIN = r"(?<=\n)(?=\S)"
_DOTTED = r"[A-Za-z_][\w.:]*"
_ANY_CASE = re.IGNORECASE

LUA = Grammar(
    (r"--\[(?P<level_>=*)\[(?s:.*?)(?:\](?P=level_)\]|\Z)", DASH_COMMENT, STRING, QUOTED),
    (
        DefinitionRule(FUNCTION, r"(?:local[ \t]+)?function[ \t]+", _DOTTED),
        DefinitionRule(FUNCTION, r"(?:local[ \t]+)?", rf"{_DOTTED}(?=[ \t]*=[ \t]*function\b)"),
    ),
    closer=r"end\b",
    above=("--",),
)
PERL = Grammar(
    (r"\n=(?:pod|head|over|item|begin|for|encoding)(?s:.*?)(?:\n=cut|\Z)", r"(?<=\s)\#[^\n]*", STRING, QUOTED),
    (DefinitionRule(FUNCTION, r"(?:sub|method)[ \t]+", r"[\w:']+"), DefinitionRule(LEAF, r"package[ \t]+", r"[\w:]+")),
    above=("#",),
)
R = Grammar(
    (HASH_COMMENT, STRING, QUOTED),
    (
        DefinitionRule(FUNCTION, "", r"[\w.]+(?=[ \t]*(?:<-|=)[ \t]*(?:function\b|\\\())"),
        DefinitionRule(CONTAINER, "", r"[\w.]+(?=[ \t]*<-[ \t]*R6Class\()"),
    ),
    above=("#",),
)
JULIA = Grammar(
    (r"\#=(?s:.*?)(?:=\#|\Z)", LONG_STRING, HASH_COMMENT, STRING),
    (
        DefinitionRule(CONTAINER, r"(?:bare)?module[ \t]+"),
        DefinitionRule(FUNCTION, r"(?:@\w+[ \t]+)*(?:function|macro)[ \t]+(?:\w+\.)*", r"[\w!]+"),
        DefinitionRule(LEAF, r"(?:mutable[ \t]+|abstract[ \t]+|primitive[ \t]+)?(?:struct|type)[ \t]+"),
        DefinitionRule(LEAF, r"const[ \t]+"),
    ),
    closer=r"end\b",
    above=("#", "@", '"""'),
)
ELIXIR = Grammar(
    (r'@\w+[ \t]+"""(?s:.*?)(?:"""|\Z)', HASH_COMMENT, STRING),
    (
        DefinitionRule(CONTAINER, r"(?:defmodule|defprotocol|defimpl)[ \t]+", _DOTTED),
        DefinitionRule(FUNCTION, r"(?:defp?|defmacrop?|defguardp?|defdelegate)[ \t]+", r"[a-z_]\w*[?!]?"),
        DefinitionRule(CONTAINER, r"describe[ \t]+\"", r"[^\"\n]+"),
        DefinitionRule(FUNCTION, r"test[ \t]+\"", r"[^\"\n]+"),
    ),
    closer=r"end\b",
    above=("#", "@"),
)
HASKELL = Grammar(
    (r"\{-(?s:.*?)(?:-\}|\Z)", DASH_COMMENT, STRING),
    (
        DefinitionRule(
            LEAF,
            r"(?:data|newtype|type(?:[ \t]+(?:alias|family))?|class|instance|module|port)[ \t]+"
            r"(?:[^\n=]{1,100}=>[ \t]*)?",
            _DOTTED,
        ),
        DefinitionRule(FUNCTION, _AT_MARGIN, r"[a-z_][\w']*(?=[ \t]*(?:::|:[ \t]))"),
    ),
    closer=r"(?!)",
    above=("--", "{-"),
)
OCAML = Grammar(
    (r"\(\*(?s:.*?)(?:\*\)|\Z)", LINE_COMMENT, STRING),
    (
        DefinitionRule(CONTAINER, r"module[ \t]+(?:rec[ \t]+|type[ \t]+)?", _DOTTED),
        DefinitionRule(
            FUNCTION,
            r"(?:let|and|member|val|external|static[ \t]+member)[ \t]+"
            r"(?:(?:rec|inline|private|mutable)[ \t]+)*(?:\w+\.)?",
            r"[a-z_A-Z][\w']*",
        ),
        DefinitionRule(
            LEAF, r"(?:type|exception|class)[ \t]+(?:rec[ \t]+)?(?:'\w+[ \t]+|\([^)\n]*\)[ \t]+)?", r"[a-zA-Z_][\w']*"
        ),
    ),
    closer=r"(?:end\b|(?!))",
    above=("(*", "//", "[<", "*"),
)
ERLANG = Grammar(
    (r"%[^\n]*", STRING),
    (
        DefinitionRule(LEAF, r"-(?:module|record|define|type|opaque)\([ \t]*"),
        DefinitionRule(FUNCTION, _AT_MARGIN, r"[a-z]\w*(?=\([^;\n]{0,200}\)[ \t]*(?:when[^\n]{0,200})?->)"),
    ),
    closer=r"(?!)",
    above=("%", "-spec", "-doc"),
)
LISP = Grammar(
    (r";[^\n]*", r"\#\|(?s:.*?)(?:\|\#|\Z)", r'"(?s:(?:[^"\\]|\\.)*+)(?:"|\Z)'),
    (
        DefinitionRule(FUNCTION, r"\((?:def[\w-]*|define[\w-]*)[ \t]+(?:\^\S+[ \t]+)*\(?", r"[^\s()\[\]\"]+"),
        DefinitionRule(LEAF, r"\(ns[ \t]+", r"[\w.-]+"),
    ),
    closer=r"(?<=\n)(?=\()",
    above=(";",),
    closes_before=True,
)
ZIG = Grammar(
    (LINE_COMMENT, STRING),
    (
        DefinitionRule(
            CONTAINER,
            r"const[ \t]+",
            rf"{_DOTTED}(?=[ \t]*=[ \t]*(?:(?:packed|extern)[ \t]+)?(?:struct|enum|union|opaque)\b)",
        ),
        DefinitionRule(FUNCTION, r"fn[ \t]+"),
        DefinitionRule(FUNCTION, r"test[ \t]+\"", r"[^\"\n]+"),
    ),
    match_words("pub export inline extern"),
    above=("//",),
)
NIM = Grammar(
    (LONG_STRING, HASH_COMMENT, STRING),
    (
        DefinitionRule(
            FUNCTION, r"(?:proc|func|method|iterator|template|macro|converter|on|to)[ \t]+`?", r"[\w=+*/<>-]+"
        ),
        DefinitionRule(LEAF, "", r"[A-Z]\w*(?=\*?(?:\[[^\]\n]*\])?[ \t]*(?:\{[^}\n]*\}[ \t]*)?=)"),
    ),
    closer=r"(?<=\n)(?=[^\s#)\]}])",
    above=("#",),
    closes_before=True,
)
BASIC = Grammar(
    (r"'[^\n]*", STRING),
    (
        DefinitionRule(CONTAINER, r"(?:class|module|structure|interface|namespace|enum)[ \t]+", _DOTTED),
        DefinitionRule(FUNCTION, r"(?:sub|function|property(?:[ \t]+(?:get|set|let))?)[ \t]+"),
    ),
    match_words(
        "public private protected friend shared static partial overrides overridable mustinherit notinheritable "
        "readonly async"
    ),
    closer=r"end[ \t]+(?:sub|function|class|module|property|structure|interface|namespace|enum)",
    above=("'", "<"),
    flags=_ANY_CASE,
)
PASCAL = Grammar(
    (r"\{(?s:.*?)(?:\}|\Z)", r"\(\*(?s:.*?)(?:\*\)|\Z)", LINE_COMMENT, QUOTED),
    (
        DefinitionRule(
            FUNCTION, r"(?:class[ \t]+)?(?:procedure|function|constructor|destructor|task|entry)[ \t]+", _DOTTED
        ),
        DefinitionRule(LEAF, r"(?:unit|program|library|package(?:[ \t]+body)?|type|subtype)[ \t]+", _DOTTED),
        DefinitionRule(LEAF, "", r"T\w+(?=[ \t]*=[ \t]*(?:class|record|interface|packed)\b)"),
    ),
    closer=r"end[ \t]*(?:\w+[ \t]*)?;",
    above=("//", "{", "(*", "--"),
    flags=_ANY_CASE,
)
FORTRAN = Grammar(
    (r"![^\n]*", STRING, QUOTED),
    (
        DefinitionRule(CONTAINER, r"(?:module|program|submodule[ \t]*\([^)\n]*\))[ \t]+(?!procedure)"),
        DefinitionRule(FUNCTION, r"(?:[\w(=)*]+[ \t]+){0,4}?(?<!end )(?:subroutine|function)[ \t]+"),
        DefinitionRule(LEAF, r"type(?:[ \t]*,[^:\n]{1,60})?[ \t]*(?:::)?[ \t]+"),
    ),
    closer=r"end\b",
    above=("!",),
    flags=_ANY_CASE,
)
HARDWARE = Grammar(
    (LINE_COMMENT, DASH_COMMENT, BLOCK_COMMENT, STRING),
    (
        DefinitionRule(
            CONTAINER,
            r"(?:module|interface|package(?:[ \t]+body)?|class|program|entity|architecture)[ \t]+"
            r"(?:(?:automatic|static)[ \t]+)?",
        ),
        DefinitionRule(
            FUNCTION,
            r"(?:function|task|procedure|process|component)[ \t]+(?:automatic[ \t]+)?(?:[\w\[\]:-]+[ \t]+){0,3}?",
            r"\w+(?=[ \t]*[(;:\s])",
        ),
    ),
    match_words("virtual pure impure extern local protected static"),
    closer=r"end\w*\b",
    above=("//", "--", "/*", "*"),
    flags=_ANY_CASE,
)
ASSEMBLY = Grammar(
    (r"[;\#@][^\n]*", BLOCK_COMMENT),
    (DefinitionRule(LEAF, _AT_MARGIN, r"[A-Za-z_.$][\w.$]*(?=:)"),),
    closer=r"(?!)",
    above=(";", "#", "//"),
)
ANY = Grammar(
    (LINE_COMMENT, BLOCK_COMMENT, STRING),
    (
        DefinitionRule(
            CONTAINER, r"(?:class|interface|module|trait|struct|enum|impl|object|package|namespace)[ \t]+", _DOTTED
        ),
        DefinitionRule(
            FUNCTION,
            r"(?:local[ \t]+)?(?:function|func|fn|def|sub|proc|procedure|method|fun|defn)[ \t]+",
            r"[A-Za-z_][\w.:?!-]*",
        ),
    ),
    match_words("public private protected static final abstract export default async pub"),
    closer=r"(?:[}\])]|end\b)",
    above=("//", "/*", "*", "@", "#", "--", ";", "%"),
)
OTHERS = (
    (LUA, "lua"),
    (PERL, "perl"),
    (R, "r"),
    (JULIA, "julia"),
    (ELIXIR, "elixir"),
    (HASKELL, "haskell elm purescript"),
    (OCAML, "ocaml fsharp"),
    (ERLANG, "erlang"),
    (LISP, "clojure lisp scheme"),
    (ZIG, "zig"),
    (NIM, "nim"),
    (BASIC, "visualbasic"),
    (PASCAL, "pascal ada"),
    (FORTRAN, "fortran"),
    (HARDWARE, "verilog vhdl"),
    (ASSEMBLY, "assembly"),
)


SHELL = Grammar(
    (STRING, QUOTED, r"(?<=\s)\#[^\n]*"),
    (
        DefinitionRule(FUNCTION, r"function[ \t]+", r"[\w:.-]+"),
        DefinitionRule(FUNCTION, "", r"[A-Za-z_][\w:.-]*(?=[ \t]*\([ \t]*\))"),
        DefinitionRule(LEAF, r"(?:(?:export|readonly|declare|local)[ \t]+(?:-\w+[ \t]+)?)?", rf"{CAPITALS}(?==)"),
    ),
    closer=r"(?:\}|end\b)",
    above=("#",),
)
POWERSHELL = Grammar(
    (r"<\#(?s:.*?)(?:\#>|\Z)", HASH_COMMENT, STRING, QUOTED),
    (
        DefinitionRule(CONTAINER, r"(?:class|enum)[ \t]+"),
        DefinitionRule(FUNCTION, r"(?:function|filter|workflow)[ \t]+(?:\w+:)?", r"[\w-]+"),
    ),
    above=("#", "[", "<#"),
    flags=_ANY_CASE,
)
SQL = Grammar(
    (DASH_COMMENT, BLOCK_COMMENT, QUOTED),
    (
        DefinitionRule(
            LEAF,
            r"create[ \t]+"
            r"(?:(?:or[ \t]+replace|temp|temporary|unique|materialized|external|global|recursive|unlogged|virtual|"
            r"clustered|nonclustered|definer[ \t]*=[ \t]*\S+)[ \t]+)*"
            r"(?:table|view|function|procedure|proc|index|trigger|type|schema|sequence|database|extension|domain|role|policy|"
            r"rule|aggregate|event|package(?:[ \t]+body)?)[ \t]+"
            r"(?:if[ \t]+not[ \t]+exists[ \t]+)?(?:concurrently[ \t]+)?[\"`\[]?"
            r"(?:\w+[\"`\]]?\.[\"`\[]?)*+",
        ),
        DefinitionRule(
            LEAF, r"(?:alter|drop)[ \t]+table[ \t]+(?:if[ \t]+exists[ \t]+)?(?:only[ \t]+)?[\"`\[]?", _DOTTED
        ),
    ),
    closer=r"\)[ \t]*;",
    above=("--", "/*", "*"),
    flags=_ANY_CASE,
)
STYLES = Grammar(
    (BLOCK_COMMENT, r"(?<!:)" + LINE_COMMENT),
    (
        DefinitionRule(LEAF, r"@(?:mixin|function|keyframes|layer|include)[ \t]+", r"[\w-]+"),
        DefinitionRule(CONTAINER, "", r"@media[^{}\n;]{1,80}(?=\{)"),
        DefinitionRule(LEAF, "", r"[.\#&:*\[\w][^{}\n;@]{0,80}(?<=\S)(?=[ \t]*\{)"),
    ),
    above=("/*", "*", "//"),
)
SCHEMAS = Grammar(
    (LINE_COMMENT, BLOCK_COMMENT, LONG_STRING, HASH_COMMENT, STRING),
    (
        DefinitionRule(
            CONTAINER,
            r"(?:extend[ \t]+)?"
            r"(?:message|service|enum|struct|union|exception|interface|type|input|model|scalar|directive[ \t]+@|"
            r"fragment|query|mutation|subscription|datasource|generator)[ \t]+",
        ),
        DefinitionRule(FUNCTION, r"rpc[ \t]+"),
    ),
    above=("//", "/*", "*", "#", '"""'),
)
TERRAFORM = Grammar(
    (LINE_COMMENT, BLOCK_COMMENT, HASH_COMMENT),
    (
        DefinitionRule(LEAF, r"(?:resource|data)[ \t]+\"", r"[\w-]+\"[ \t]+\"[\w-]+(?=\")"),
        DefinitionRule(LEAF, r"(?<=\n)\w+[ \t]+\"", r"[\w-]+(?=\"[ \t]*\{)"),
        DefinitionRule(LEAF, _AT_MARGIN, r"[\w-]+(?=[ \t]*\{)"),
    ),
    above=("#", "//", "/*", "*"),
)
CMAKE = Grammar(
    (HASH_COMMENT, STRING),
    (
        DefinitionRule(
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
        DefinitionRule(LEAF, _AT_MARGIN + r"(?!\.PHONY)", r"[\w.%/${}()-]+(?=[^:=\n#]{0,200}::?(?!=))"),
        DefinitionRule(LEAF, _AT_MARGIN + r"define[ \t]+"),
    ),
    closer=r"(?!)",
    above=("#", ".PHONY", "@", "["),
)
DOCKER = Grammar(
    (HASH_COMMENT,),
    (DefinitionRule(LEAF, r"from[ \t]+", r"[^\s]+(?:[ \t]+as[ \t]+\S+)?"),),
    closer=r"(?!)",
    above=("#", "ARG"),
    flags=_ANY_CASE,
)
NIX = Grammar(
    (HASH_COMMENT, BLOCK_COMMENT, STRING, r"''(?s:.*?)(?:''|\Z)"),
    (DefinitionRule(CONTAINER, "", r"[\w.-]+(?=[ \t]*=[ \t]*(?:rec[ \t]*)?(?:\{|\w+:|[\w.]+[ \t]+(?:rec[ \t]*)?\{))"),),
    above=("#",),
)
SMALL = Grammar(
    (HASH_COMMENT, STRING),
    (
        DefinitionRule(
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
