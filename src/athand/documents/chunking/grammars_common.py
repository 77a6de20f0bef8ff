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
    NOT_ASSIGNED,
    NOT_CALLED,
    PARAMETERS,
    QUOTED,
    STRING,
    Grammar,
    Rule,
    match_words,
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
    match_words("private protected public module_function private_class_method"),
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
    match_words(
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
    match_words(r"pub(?:\([^)\n]{0,80}\))? default const async unsafe safe auto static extern \"[^\"\n]{0,20}\""),
)
PHP = Grammar(
    (*_COMMENTS, r"\#(?!\[)[^\n]*", STRING, QUOTED),
    (
        Rule(CONTAINER, r"(?:class|interface|trait|enum)[ \t]+"),
        Rule(FUNCTION, r"function[ \t]+&?[ \t]*"),
        Rule(LEAF, r"const[ \t]+(?:\??\w+[ \t]+)?", r"\w+(?=[ \t]*=)"),
        Rule(LEAF, r"namespace[ \t]+", r"[\w\\]+"),
    ),
    match_words("abstract final readonly static public protected private"),
)


_ANNOTATION = r"@(?!interface\b)[\w.]+(?:\([^()\n]{0,200}\))?"
_MODIFIERS = match_words(
    _ANNOTATION
    + r"""
    /\*[^*\n]{0,80}\*/ <[^;{}()\n]{1,100}> public private protected internal static final abstract sealed partial new
    readonly override virtual async unsafe extern synchronized native default strictfp transient volatile required open
    inline data inner companion suspend operator infix tailrec external expect actual fileprivate mutating nonmutating
    convenience indirect lateinit const value annotation implicit lazy case(?=[ ](?:class|object)) ref non-sealed file
    export late factory base mixin
    """
)
_TYPE = r"(?:delegate\*[^;{}()\n]{1,160}>|[A-Za-z_][\w.:]*(?:<[^;{}()\n]{1,120}>)?)(?:[\[\]?*,]|[ \t]?\[\])*[ \t]+"
_NAMED = (
    Rule(
        CONTAINER,
        r"(?:class|interface|enum(?:[ \t]+class)?|record(?:[ \t]+(?:class|struct))?|struct|namespace|@interface|object|"
        r"trait|protocol|extension|actor|library|contract)[ \t]+",
        r"[A-Za-z_][\w.]*",
    ),
    Rule(
        FUNCTION,
        r"(?:fun|func|def|function|modifier|event)\b[ \t]+(?:<[^>\n]{1,100}>[ \t]*)?(?:\w+(?:<[^>\n]{0,100}>)?\??\.)*+",
        r"`[^`\n]+`|[\w$]+|[^\s\w(]{1,3}",
    ),
    Rule(FUNCTION, "", r"(?:init|deinit|constructor|subscript)(?=[?!]?[ \t]*[(<{])"),
    Rule(LEAF, r"(?:typealias|type|associatedtype)[ \t]+"),
)
_ARGUMENTS = r"[ \t]*(?:<[^;{}()\n]{1,100}>)?[ \t]*" + PARAMETERS
_METHODS = (
    Rule(
        MEMBER,
        NOT_CALLED + rf"(?:{_TYPE})?" + NOT_CALLED,
        rf"(?:[\w.]+(?:<[^;{{}}()\n]{{1,100}}>)?\.)?~?\w+(?={_ARGUMENTS}[^;{{}}(=]{{0,200}}(?:\([^;{{}}]{{0,200}})?(?:\{{|=>|;))",
    ),
    Rule(MEMBER, NOT_CALLED + _TYPE, r"\w+(?=\s*(?:\{\s*(?:\w+[ \t]+)?(?:get|set|init|add)\b|=>))"),
    Rule(LEAF, NOT_CALLED + _TYPE, rf"{CAPITALS}(?=[ \t]*=)"),
)
JAVA = Grammar(
    (*_COMMENTS, LONG_STRING, r'@"(?:[^"]|"")*+(?:"|\Z)', STRING, CHARACTER),
    (*_NAMED, *_METHODS),
    NOT_ASSIGNED + r"(?!new\b)" + _MODIFIERS,
)
KOTLIN = Grammar((*_COMMENTS, LONG_STRING, STRING, CHARACTER), _NAMED, _MODIFIERS)

_TEMPLATE = r"(?:template[ \t]*<[^{};]{0,300}>\s*|extern[ \t]+\"C\"[ \t]+)?"
_TYPE_WORDS = (
    r"(?:(?:[A-Za-z_]\w*(?:<[^;{}()\n]{1,120}>)?(?:::\w+(?:<[^;{}()\n]{1,120}>)?)*|\[\[[^\]\n]{1,80}\]\])"
    r"(?:\s*[*&]+\s*|\s+)){0,7}?"
)
_ATTRIBUTES = r"(?:[A-Z_][A-Z0-9_]*(?:\([^)\n]*\))?[ \t]+|\[\[[^\]\n]*\]\][ \t]*|__\w+(?:\(\([^)\n]*\)\))?[ \t]+)*"
_OPERATOR = r"operator(?:[ \t]*(?:\(\)|[^\s\w(]{1,3})|[ \t]+[\w:]+[ \t*&]{0,3})"
_BODY = (
    r"\s*(?:(?:const|noexcept|override|final|volatile|mutable|throw|try|&&?|__\w+|[A-Z][A-Z0-9_]+|->|:|requires)"
    r"(?!\w)[^;{}]{0,600})?\{"
)
C = Grammar(
    (*_COMMENTS, r'\bR"(?P<raw_>[^(\s]{0,16})\((?s:.*?)(?:\)(?P=raw_)"|\Z)', STRING, CHARACTER),
    (
        Rule(LEAF, r"\#[ \t]*define[ \t]+"),
        Rule(CONTAINER, r"(?:inline[ \t]+)?namespace[ \t]+", r"[\w:]+(?=[^;=\n]*(?:\{|\n))"),
        Rule(
            CONTAINER,
            r"(?:(?:typedef|static|const)[ \t]+)*(?:struct|class|union|enum(?:[ \t]+(?:class|struct))?)[ \t]+"
            + _ATTRIBUTES,
            r"[A-Za-z_][\w:]*(?=(?:<[^;{}()\n]{0,200}>)?[ \t]*(?:final)?\s*(?::(?!:)[^;{}]{0,400})?\{)",
        ),
        Rule(LEAF, r"(?:typedef\b[^;{}\n]{1,200}[\s*]|using[ \t]+)", r"\w+(?=[ \t]*(?:;|=[^=]))"),
        Rule(CONTAINER, r"@(?:interface|implementation|protocol)[ \t]+"),
        Rule(FUNCTION, r"[-+][ \t]*\([^()\n]{1,80}\)[ \t]*"),
        Rule(
            FUNCTION,
            NOT_CALLED + _TYPE_WORDS + NOT_CALLED,
            rf"(?:\w+(?:<[^;{{}}()\n]{{0,80}}>)?::)*+(?:{_OPERATOR}|~?\w+)(?=\s*{PARAMETERS}{_BODY})",
        ),
        Rule(
            MEMBER, NOT_CALLED + _TYPE_WORDS + NOT_CALLED, rf"(?:{_OPERATOR}|~?\w+)(?={PARAMETERS}[^;{{}}()]{{0,60}};)"
        ),
    ),
    NOT_ASSIGNED + _TEMPLATE,
    closer=r"[}\]]",
    above=("//", "/*", "*", "template", "[[", "__attribute__"),
)
