"""Grammars of smaller programming languages, and of those that are not known."""

import re

from athand.documents.chunking.grammar import (
    BLOCK_COMMENT,
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
    words,
)

# At the left margin.
_AT_MARGIN = r"(?<=\n)(?=\S)"
_DOTTED = r"[A-Za-z_][\w.:]*"
_ANY_CASE = re.IGNORECASE

LUA = Grammar(
    (r"--\[(?P<level_>=*)\[(?s:.*?)(?:\](?P=level_)\]|\Z)", DASH_COMMENT, STRING, QUOTED),
    (
        Rule(FUNCTION, r"(?:local[ \t]+)?function[ \t]+", _DOTTED),
        Rule(FUNCTION, r"(?:local[ \t]+)?", rf"{_DOTTED}(?=[ \t]*=[ \t]*function\b)"),
    ),
    closer=r"end\b",
    above=("--",),
)
PERL = Grammar(
    (r"\n=(?:pod|head|over|item|begin|for|encoding)(?s:.*?)(?:\n=cut|\Z)", r"(?<=\s)\#[^\n]*", STRING, QUOTED),
    (Rule(FUNCTION, r"(?:sub|method)[ \t]+", r"[\w:']+"), Rule(LEAF, r"package[ \t]+", r"[\w:]+")),
    above=("#",),
)
R = Grammar(
    (HASH_COMMENT, STRING, QUOTED),
    (
        Rule(FUNCTION, "", r"[\w.]+(?=[ \t]*(?:<-|=)[ \t]*(?:function\b|\\\())"),
        Rule(CONTAINER, "", r"[\w.]+(?=[ \t]*<-[ \t]*R6Class\()"),
    ),
    above=("#",),
)
JULIA = Grammar(
    (r"\#=(?s:.*?)(?:=\#|\Z)", LONG_STRING, HASH_COMMENT, STRING),
    (
        Rule(CONTAINER, r"(?:bare)?module[ \t]+"),
        Rule(FUNCTION, r"(?:@\w+[ \t]+)*(?:function|macro)[ \t]+(?:\w+\.)*", r"[\w!]+"),
        Rule(LEAF, r"(?:mutable[ \t]+|abstract[ \t]+|primitive[ \t]+)?(?:struct|type)[ \t]+"),
        Rule(LEAF, r"const[ \t]+"),
    ),
    closer=r"end\b",
    above=("#", "@", '"""'),
)
ELIXIR = Grammar(
    (r'@\w+[ \t]+"""(?s:.*?)(?:"""|\Z)', HASH_COMMENT, STRING),
    (
        Rule(CONTAINER, r"(?:defmodule|defprotocol|defimpl)[ \t]+", _DOTTED),
        Rule(FUNCTION, r"(?:defp?|defmacrop?|defguardp?|defdelegate)[ \t]+", r"[a-z_]\w*[?!]?"),
        Rule(CONTAINER, r"describe[ \t]+\"", r"[^\"\n]+"),
        Rule(FUNCTION, r"test[ \t]+\"", r"[^\"\n]+"),
    ),
    closer=r"end\b",
    above=("#", "@"),
)
HASKELL = Grammar(
    (r"\{-(?s:.*?)(?:-\}|\Z)", DASH_COMMENT, STRING),
    (
        Rule(
            LEAF,
            r"(?:data|newtype|type(?:[ \t]+(?:alias|family))?|class|instance|module|port)[ \t]+"
            r"(?:[^\n=]{1,100}=>[ \t]*)?",
            _DOTTED,
        ),
        Rule(FUNCTION, _AT_MARGIN, r"[a-z_][\w']*(?=[ \t]*(?:::|:[ \t]))"),
    ),
    closer=r"(?!)",
    above=("--", "{-"),
)
OCAML = Grammar(
    (r"\(\*(?s:.*?)(?:\*\)|\Z)", LINE_COMMENT, STRING),
    (
        Rule(CONTAINER, r"module[ \t]+(?:rec[ \t]+|type[ \t]+)?", _DOTTED),
        Rule(
            FUNCTION,
            r"(?:let|and|member|val|external|static[ \t]+member)[ \t]+"
            r"(?:(?:rec|inline|private|mutable)[ \t]+)*(?:\w+\.)?",
            r"[a-z_A-Z][\w']*",
        ),
        Rule(
            LEAF, r"(?:type|exception|class)[ \t]+(?:rec[ \t]+)?(?:'\w+[ \t]+|\([^)\n]*\)[ \t]+)?", r"[a-zA-Z_][\w']*"
        ),
    ),
    closer=r"(?:end\b|(?!))",
    above=("(*", "//", "[<", "*"),
)
ERLANG = Grammar(
    (r"%[^\n]*", STRING),
    (
        Rule(LEAF, r"-(?:module|record|define|type|opaque)\([ \t]*"),
        Rule(FUNCTION, _AT_MARGIN, r"[a-z]\w*(?=\([^;\n]{0,200}\)[ \t]*(?:when[^\n]{0,200})?->)"),
    ),
    closer=r"(?!)",
    above=("%", "-spec", "-doc"),
)
LISP = Grammar(
    (r";[^\n]*", r"\#\|(?s:.*?)(?:\|\#|\Z)", r'"(?s:(?:[^"\\]|\\.)*+)(?:"|\Z)'),
    (
        Rule(FUNCTION, r"\((?:def[\w-]*|define[\w-]*)[ \t]+(?:\^\S+[ \t]+)*\(?", r"[^\s()\[\]\"]+"),
        Rule(LEAF, r"\(ns[ \t]+", r"[\w.-]+"),
    ),
    closer=r"(?<=\n)(?=\()",
    above=(";",),
    closes_before=True,
)
ZIG = Grammar(
    (LINE_COMMENT, STRING),
    (
        Rule(
            CONTAINER,
            r"const[ \t]+",
            rf"{_DOTTED}(?=[ \t]*=[ \t]*(?:(?:packed|extern)[ \t]+)?(?:struct|enum|union|opaque)\b)",
        ),
        Rule(FUNCTION, r"fn[ \t]+"),
        Rule(FUNCTION, r"test[ \t]+\"", r"[^\"\n]+"),
    ),
    words("pub export inline extern"),
    above=("//",),
)
NIM = Grammar(
    (LONG_STRING, HASH_COMMENT, STRING),
    (
        Rule(FUNCTION, r"(?:proc|func|method|iterator|template|macro|converter|on|to)[ \t]+`?", r"[\w=+*/<>-]+"),
        Rule(LEAF, "", r"[A-Z]\w*(?=\*?(?:\[[^\]\n]*\])?[ \t]*(?:\{[^}\n]*\}[ \t]*)?=)"),
    ),
    closer=r"(?<=\n)(?=[^\s#)\]}])",
    above=("#",),
    closes_before=True,
)
BASIC = Grammar(
    (r"'[^\n]*", STRING),
    (
        Rule(CONTAINER, r"(?:class|module|structure|interface|namespace|enum)[ \t]+", _DOTTED),
        Rule(FUNCTION, r"(?:sub|function|property(?:[ \t]+(?:get|set|let))?)[ \t]+"),
    ),
    words(
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
        Rule(FUNCTION, r"(?:class[ \t]+)?(?:procedure|function|constructor|destructor|task|entry)[ \t]+", _DOTTED),
        Rule(LEAF, r"(?:unit|program|library|package(?:[ \t]+body)?|type|subtype)[ \t]+", _DOTTED),
        Rule(LEAF, "", r"T\w+(?=[ \t]*=[ \t]*(?:class|record|interface|packed)\b)"),
    ),
    closer=r"end[ \t]*(?:\w+[ \t]*)?;",
    above=("//", "{", "(*", "--"),
    flags=_ANY_CASE,
)
FORTRAN = Grammar(
    (r"![^\n]*", STRING, QUOTED),
    (
        Rule(CONTAINER, r"(?:module|program|submodule[ \t]*\([^)\n]*\))[ \t]+(?!procedure)"),
        Rule(FUNCTION, r"(?:[\w(=)*]+[ \t]+){0,4}?(?<!end )(?:subroutine|function)[ \t]+"),
        Rule(LEAF, r"type(?:[ \t]*,[^:\n]{1,60})?[ \t]*(?:::)?[ \t]+"),
    ),
    closer=r"end\b",
    above=("!",),
    flags=_ANY_CASE,
)
HARDWARE = Grammar(
    (LINE_COMMENT, DASH_COMMENT, BLOCK_COMMENT, STRING),
    (
        Rule(
            CONTAINER,
            r"(?:module|interface|package(?:[ \t]+body)?|class|program|entity|architecture)[ \t]+"
            r"(?:(?:automatic|static)[ \t]+)?",
        ),
        Rule(
            FUNCTION,
            r"(?:function|task|procedure|process|component)[ \t]+(?:automatic[ \t]+)?(?:[\w\[\]:-]+[ \t]+){0,3}?",
            r"\w+(?=[ \t]*[(;:\s])",
        ),
    ),
    words("virtual pure impure extern local protected static"),
    closer=r"end\w*\b",
    above=("//", "--", "/*", "*"),
    flags=_ANY_CASE,
)
ASSEMBLY = Grammar(
    (r"[;\#@][^\n]*", BLOCK_COMMENT),
    (Rule(LEAF, _AT_MARGIN, r"[A-Za-z_.$][\w.$]*(?=:)"),),
    closer=r"(?!)",
    above=(";", "#", "//"),
)
ANY = Grammar(
    (LINE_COMMENT, BLOCK_COMMENT, STRING),
    (
        Rule(CONTAINER, r"(?:class|interface|module|trait|struct|enum|impl|object|package|namespace)[ \t]+", _DOTTED),
        Rule(
            FUNCTION,
            r"(?:local[ \t]+)?(?:function|func|fn|def|sub|proc|procedure|method|fun|defn)[ \t]+",
            r"[A-Za-z_][\w.:?!-]*",
        ),
    ),
    words("public private protected static final abstract export default async pub"),
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
