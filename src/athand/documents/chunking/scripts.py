"""Grammars of languages that name what they define: Python, Ruby, JavaScript and TypeScript, Go, Rust, PHP."""

from athand.documents.chunking.grammar import (
    BLOCK_COMMENT,
    CAPITALS,
    CHARACTER,
    CONTAINER,
    FUNCTION,
    HASH_COMMENT,
    LEAF,
    LINE_COMMENT,
    LONG_STRING,
    MEMBER,
    NOT_CALLED,
    PARAMETERS,
    QUOTED,
    STRING,
    Grammar,
    Rule,
    words,
)

_COMMENTS = (LINE_COMMENT, BLOCK_COMMENT)
_ASSIGNED = r"[ \t]*(?::[^=\n]{1,80})?=[^=]"
PYTHON = Grammar(
    (LONG_STRING, r"'''(?s:.*?)(?:(?<!\\)'''|\Z)", STRING, QUOTED, HASH_COMMENT),
    (
        Rule(FUNCTION, r"(?:(?:async|static|cdef|cpdef|inline)[ \t]+)*(?:def|func)[ \t]+"),
        Rule(CONTAINER, r"(?:cdef[ \t]+)?class(?:_name)?[ \t]+"),
        Rule(LEAF, "", rf"{CAPITALS}(?={_ASSIGNED})"),
        Rule(LEAF, r"(?<=\n)(?:type[ \t]+)?", rf"_?[A-Z]\w*(?=(?:\[[^\n=]{{1,80}}\])?{_ASSIGNED})"),
    ),
    closer=r"(?<=\n)(?=[^\s#)\]}'\"@])",
    above=("#", "@"),
    closes_before=True,
)
RUBY = Grammar(
    (r"\n=begin(?s:.*?)(?:\n=end|\Z)", STRING, QUOTED, HASH_COMMENT),
    (
        Rule(FUNCTION, r"def[ \t]+(?:self\.|\w+\.)?", r"\w+[?!=]?|[^\s\w(]{1,3}"),
        Rule(CONTAINER, r"(?:abstract[ \t]+)?(?:class|module|struct|enum)[ \t]+(?!<<)", r"[A-Z][\w:]*"),
        Rule(LEAF, "", rf"{CAPITALS}(?=[ \t]*=[^=~])"),
        Rule(CONTAINER, r"(?:namespace|describe|context)[ \t(]+[:\"']?", r"[\w: ]+"),
        Rule(FUNCTION, r"task[ \t(]+[:\"']?", r"\w+"),
    ),
    words("private protected public module_function private_class_method"),
    closer=r"end\b",
    above=("#",),
)
_FUNCTION_VALUE = (
    r"\s*(?::[^=\n]{1,200})?=\s*(?:async\b\s*)?"
    r"(?:function\b|(?:<[^\n]{1,80}>)?\([^;{}]{0,300}\)[^;{}\n]{0,100}=>|\(\{[^;]{0,300}\}[^;{}\n]{0,200}=>|[\w$]+\s*=>)"
)
_SCRIPT_RULES = (
    Rule(FUNCTION, r"function\b[ \t]*\*?[ \t]*", r"[\w$]+"),
    Rule(CONTAINER, r"class[ \t]+", r"(?!extends\b)[\w$]+"),
    Rule(
        CONTAINER,
        r"(?:const[ \t]+)?(?:interface|enum|namespace|module)[ \t]+[\"']?",
        r"[\w$.]+(?=[^;\n(=]*\{|(?:<[^;{}()]{0,200}>)?\s*(?:extends|\{))",
    ),
    Rule(LEAF, r"type[ \t]+", r"[\w$]+(?=\s*(?:<|=[^=]))"),
    Rule(CONTAINER, r"module\.exports[ \t]*=[ \t]*class[ \t]+", r"(?!extends\b)[\w$]+"),
    Rule(CONTAINER, r"(?:(?:const|let|var)[ \t]+|(?:[\w$]+\.){1,4}+)", r"[\w$]+(?=[ \t]*=[ \t]*class\b)"),
    Rule(FUNCTION, r"(?:const|let|var)[ \t]+", rf"[\w$]+(?={_FUNCTION_VALUE})"),
    Rule(LEAF, r"(?:const|let|var)[ \t]+", r"(?:(?<=export const )[\w$]+|[A-Z][A-Z0-9_]+)(?=\s*[:=])"),
    Rule(
        FUNCTION,
        r"(?:[\w$]+\.){1,4}+",
        r"[\w$]+(?=[ \t]*=[ \t]*(?:async[ \t]+)?(?:function\b|\([^(){};]{0,200}\)[ \t]*=>))",
    ),
    Rule(
        MEMBER,
        r"\*?[ \t]*" + NOT_CALLED,
        r"(?:\#?[\w$]+|\[[\w.$]+\])(?=[?!]?[ \t]*(?:<[^\n;{}]{1,200}>)?" + PARAMETERS + r"[ \t]*(?::[^;\n]{1,200})?\{)",
    ),
    Rule(MEMBER, r"(?<=abstract )", r"[\w$]+(?=[ \t]*(?:<[^\n;{}]{1,200}>)?\()"),
    Rule(MEMBER, "", rf"\#?[\w$]+(?={_FUNCTION_VALUE})"),
)
_REGEX = (
    r"(?:(?<=[=(,:;!&|?\[{}][ \n])|(?<=[(,=:!\[]))/(?![/*])"
    r"(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,200}+\]){1,300}+/"
)
SCRIPT = Grammar(
    (*_COMMENTS, _REGEX, STRING, QUOTED, r"`(?s:(?:[^`\\]|\\.)*+)(?:`|\Z)"),
    _SCRIPT_RULES,
    words(
        r"/\*[^*\n]{0,80}\*/ export default declare abstract public private protected static readonly override async "
        "get set accessor"
    ),
)
SECTIONS = Grammar(
    SCRIPT.skipped,
    (Rule(CONTAINER, r"<", r"(?:template|script|style|markup)\b"), *_SCRIPT_RULES),
    SCRIPT.prefix,
    closer=r"(?:[}\])]|</)",
)
GO = Grammar(
    (*_COMMENTS, STRING, CHARACTER, r"`[^`]*+(?:`|\Z)"),
    (
        Rule(FUNCTION, r"func[ \t]+(?:\([^)\n]{0,200}\)[ \t]*)?"),
        Rule(LEAF, r"type[ \t]+"),
        Rule(LEAF, r"(?<=\n)(?:const|var)[ \t]+"),
    ),
)
RUST = Grammar(
    (
        *_COMMENTS,
        r'\br(?P<hashes_>\#*)"(?s:.*?)(?:"(?P=hashes_)|\Z)',
        r'"(?s:(?:[^"\\]|\\.)*+)(?:"|\Z)',
        CHARACTER,
    ),
    (
        Rule(FUNCTION, r"fn[ \t]+(?:r\#)?"),
        Rule(
            CONTAINER,
            r"impl\b[ \t]*(?:<[^{;]{0,300}?>[ \t]*(?=[\w(&\[*!]))?(?:[^{;\n]{1,200}?[ \t]for[ \t]+)?"
            r"(?:&(?:'\w+[ \t]+)?(?:mut[ \t]+)?)?(?:\w+::)*+",
        ),
        Rule(CONTAINER, r"(?:trait|mod)[ \t]+"),
        Rule(LEAF, r"(?:struct|enum|union|type)[ \t]+"),
        Rule(LEAF, r"(?:mut[ \t]+)?", r"(?:(?<=const )|(?<=static )|(?<=static mut ))[A-Z]\w*(?=[ \t]*:)"),
        Rule(FUNCTION, r"macro_rules![ \t]*"),
    ),
    words(r"pub(?:\([^)\n]{0,80}\))? default const async unsafe safe auto static extern \"[^\"\n]{0,20}\""),
)
PHP = Grammar(
    (*_COMMENTS, r"\#(?!\[)[^\n]*", STRING, QUOTED),
    (
        Rule(CONTAINER, r"(?:class|interface|trait|enum)[ \t]+"),
        Rule(FUNCTION, r"function[ \t]+&?[ \t]*"),
        Rule(LEAF, r"const[ \t]+(?:\??\w+[ \t]+)?", r"\w+(?=[ \t]*=)"),
        Rule(LEAF, r"namespace[ \t]+", r"[\w\\]+"),
    ),
    words("abstract final readonly static public protected private"),
)
