"""Grammars of languages with braces and types before names: C and its kin, Java, C#, Kotlin, Swift, Scala, Dart."""

from athand.documents.chunking.grammar import (
    BLOCK_COMMENT,
    CAPITALS,
    CHARACTER,
    CONTAINER,
    FUNCTION,
    LEAF,
    LINE_COMMENT,
    LONG_STRING,
    MEMBER,
    NOT_ASSIGNED,
    NOT_CALLED,
    PARAMETERS,
    STRING,
    Grammar,
    Rule,
    words,
)

_COMMENTS = (LINE_COMMENT, BLOCK_COMMENT)

_ANNOTATION = r"@(?!interface\b)[\w.]+(?:\([^()\n]{0,200}\))?"
_MODIFIERS = words(
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
