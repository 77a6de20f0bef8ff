"""Grammars of common languages: Python, Ruby, JavaScript, TypeScript, Go, Rust, PHP, C, Java, C#, Kotlin and kin."""

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
    DefinitionRule,
    Grammar,
    match_words,
)

_COMMENTS = (LINE_COMMENT, BLOCK_COMMENT)
_ASSIGNED = r"[ \t]*(?::[^=\n]{1,80})?=[^=]"
PYTHON = Grammar(
    (LONG_STRING, r"'''(?s:.*?)(?:(?<!\\)'''|\Z)", STRING, QUOTED, HASH_COMMENT),
    (
        DefinitionRule(FUNCTION, r"(?:(?:async|static|cdef|cpdef|inline)[ \t]+)*(?:def|func)[ \t]+"),
        DefinitionRule(CONTAINER, r"(?:cdef[ \t]+)?class(?:_name)?[ \t]+"),
        DefinitionRule(LEAF, "", rf"{CAPITALS}(?={_ASSIGNED})"),
        DefinitionRule(LEAF, r"(?<=\n)(?:type[ \t]+)?", rf"_?[A-Z]\w*(?=(?:\[[^\n=]{{1,80}}\])?{_ASSIGNED})"),
    ),
    closer=r"(?<=\n)(?=[^\s#)\]}'\"@])",
    above=("#", "@"),
    closes_before=True,
)
RUBY = Grammar(
    (r"\n=begin(?s:.*?)(?:\n=end|\Z)", STRING, QUOTED, HASH_COMMENT),
    (
        DefinitionRule(FUNCTION, r"def[ \t]+(?:self\.|\w+\.)?", r"\w+[?!=]?|[^\s\w(]{1,3}"),
        DefinitionRule(CONTAINER, r"(?:abstract[ \t]+)?(?:class|module|struct|enum)[ \t]+(?!<<)", r"[A-Z][\w:]*"),
        DefinitionRule(LEAF, "", rf"{CAPITALS}(?=[ \t]*=[^=~])"),
        DefinitionRule(CONTAINER, r"(?:namespace|describe|context)[ \t(]+[:\"']?", r"[\w: ]+"),
        DefinitionRule(FUNCTION, r"task[ \t(]+[:\"']?", r"\w+"),
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
    DefinitionRule(FUNCTION, r"function\b[ \t]*\*?[ \t]*", r"[\w$]+"),
    DefinitionRule(CONTAINER, r"class[ \t]+", r"(?!extends\b)[\w$]+"),
    DefinitionRule(
        CONTAINER,
        r"(?:const[ \t]+)?(?:interface|enum|namespace|module)[ \t]+[\"']?",
        r"[\w$.]+(?=[^;\n(=]*\{|(?:<[^;{}()]{0,200}>)?\s*(?:extends|\{))",
    ),
    DefinitionRule(LEAF, r"type[ \t]+", r"[\w$]+(?=\s*(?:<|=[^=]))"),
    DefinitionRule(CONTAINER, r"module\.exports[ \t]*=[ \t]*class[ \t]+", r"(?!extends\b)[\w$]+"),
    DefinitionRule(CONTAINER, r"(?:(?:const|let|var)[ \t]+|(?:[\w$]+\.){1,4}+)", r"[\w$]+(?=[ \t]*=[ \t]*class\b)"),
    DefinitionRule(FUNCTION, r"(?:const|let|var)[ \t]+", rf"[\w$]+(?={_FUNCTION_VALUE})"),
    DefinitionRule(LEAF, r"(?:const|let|var)[ \t]+", r"(?:(?<=export const )[\w$]+|[A-Z][A-Z0-9_]+)(?=\s*[:=])"),
    DefinitionRule(
        FUNCTION,
        r"(?:[\w$]+\.){1,4}+",
        r"[\w$]+(?=[ \t]*=[ \t]*(?:async[ \t]+)?(?:function\b|\([^(){};]{0,200}\)[ \t]*=>))",
    ),
    DefinitionRule(
        MEMBER,
        r"\*?[ \t]*" + NOT_CALLED,
        r"(?:\#?[\w$]+|\[[\w.$]+\])(?=[?!]?[ \t]*(?:<[^\n;{}]{1,200}>)?" + PARAMETERS + r"[ \t]*(?::[^;\n]{1,200})?\{)",
    ),
    DefinitionRule(MEMBER, r"(?<=abstract )", r"[\w$]+(?=[ \t]*(?:<[^\n;{}]{1,200}>)?\()"),
    DefinitionRule(MEMBER, "", rf"\#?[\w$]+(?={_FUNCTION_VALUE})"),
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
    (DefinitionRule(CONTAINER, r"<", r"(?:template|script|style|markup)\b"), *_SCRIPT_RULES),
    SCRIPT.prefix,
    closer=r"(?:[}\])]|</)",
)
GO = Grammar(
    (*_COMMENTS, STRING, CHARACTER, r"`[^`]*+(?:`|\Z)"),
    (
        DefinitionRule(FUNCTION, r"func[ \t]+(?:\([^)\n]{0,200}\)[ \t]*)?"),
        DefinitionRule(LEAF, r"type[ \t]+"),
        DefinitionRule(LEAF, r"(?<=\n)(?:const|var)[ \t]+"),
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
        DefinitionRule(FUNCTION, r"fn[ \t]+(?:r\#)?"),
        DefinitionRule(
            CONTAINER,
            r"impl\b[ \t]*(?:<[^{;]{0,300}?>[ \t]*(?=[\w(&\[*!]))?(?:[^{;\n]{1,200}?[ \t]for[ \t]+)?"
            r"(?:&(?:'\w+[ \t]+)?(?:mut[ \t]+)?)?(?:\w+::)*+",
        ),
        DefinitionRule(CONTAINER, r"(?:trait|mod)[ \t]+"),
        DefinitionRule(LEAF, r"(?:struct|enum|union|type)[ \t]+"),
        DefinitionRule(LEAF, r"(?:mut[ \t]+)?", r"(?:(?<=const )|(?<=static )|(?<=static mut ))[A-Z]\w*(?=[ \t]*:)"),
        DefinitionRule(FUNCTION, r"macro_rules![ \t]*"),
    ),
    match_words(r"pub(?:\([^)\n]{0,80}\))? default const async unsafe safe auto static extern \"[^\"\n]{0,20}\""),
)
PHP = Grammar(
    (*_COMMENTS, r"\#(?!\[)[^\n]*", STRING, QUOTED),
    (
        DefinitionRule(CONTAINER, r"(?:class|interface|trait|enum)[ \t]+"),
        DefinitionRule(FUNCTION, r"function[ \t]+&?[ \t]*"),
        DefinitionRule(LEAF, r"const[ \t]+(?:\??\w+[ \t]+)?", r"\w+(?=[ \t]*=)"),
        DefinitionRule(LEAF, r"namespace[ \t]+", r"[\w\\]+"),
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
    DefinitionRule(
        CONTAINER,
        r"(?:class|interface|enum(?:[ \t]+class)?|record(?:[ \t]+(?:class|struct))?|struct|namespace|@interface|object|"
        r"trait|protocol|extension|actor|library|contract)[ \t]+",
        r"[A-Za-z_][\w.]*",
    ),
    DefinitionRule(
        FUNCTION,
        r"(?:fun|func|def|function|modifier|event)\b[ \t]+(?:<[^>\n]{1,100}>[ \t]*)?(?:\w+(?:<[^>\n]{0,100}>)?\??\.)*+",
        r"`[^`\n]+`|[\w$]+|[^\s\w(]{1,3}",
    ),
    DefinitionRule(FUNCTION, "", r"(?:init|deinit|constructor|subscript)(?=[?!]?[ \t]*[(<{])"),
    DefinitionRule(LEAF, r"(?:typealias|type|associatedtype)[ \t]+"),
)
_ARGUMENTS = r"[ \t]*(?:<[^;{}()\n]{1,100}>)?[ \t]*" + PARAMETERS
_METHODS = (
    DefinitionRule(
        MEMBER,
        NOT_CALLED + rf"(?:{_TYPE})?" + NOT_CALLED,
        rf"(?:[\w.]+(?:<[^;{{}}()\n]{{1,100}}>)?\.)?~?\w+(?={_ARGUMENTS}[^;{{}}(=]{{0,200}}(?:\([^;{{}}]{{0,200}})?(?:\{{|=>|;))",
    ),
    DefinitionRule(MEMBER, NOT_CALLED + _TYPE, r"\w+(?=\s*(?:\{\s*(?:\w+[ \t]+)?(?:get|set|init|add)\b|=>))"),
    DefinitionRule(LEAF, NOT_CALLED + _TYPE, rf"{CAPITALS}(?=[ \t]*=)"),
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
        DefinitionRule(LEAF, r"\#[ \t]*define[ \t]+"),
        DefinitionRule(CONTAINER, r"(?:inline[ \t]+)?namespace[ \t]+", r"[\w:]+(?=[^;=\n]*(?:\{|\n))"),
        DefinitionRule(
            CONTAINER,
            r"(?:(?:typedef|static|const)[ \t]+)*(?:struct|class|union|enum(?:[ \t]+(?:class|struct))?)[ \t]+"
            + _ATTRIBUTES,
            r"[A-Za-z_][\w:]*(?=(?:<[^;{}()\n]{0,200}>)?[ \t]*(?:final)?\s*(?::(?!:)[^;{}]{0,400})?\{)",
        ),
        DefinitionRule(LEAF, r"(?:typedef\b[^;{}\n]{1,200}[\s*]|using[ \t]+)", r"\w+(?=[ \t]*(?:;|=[^=]))"),
        DefinitionRule(CONTAINER, r"@(?:interface|implementation|protocol)[ \t]+"),
        DefinitionRule(FUNCTION, r"[-+][ \t]*\([^()\n]{1,80}\)[ \t]*"),
        DefinitionRule(
            FUNCTION,
            NOT_CALLED + _TYPE_WORDS + NOT_CALLED,
            rf"(?:\w+(?:<[^;{{}}()\n]{{0,80}}>)?::)*+(?:{_OPERATOR}|~?\w+)(?=\s*{PARAMETERS}{_BODY})",
        ),
        DefinitionRule(
            MEMBER, NOT_CALLED + _TYPE_WORDS + NOT_CALLED, rf"(?:{_OPERATOR}|~?\w+)(?={PARAMETERS}[^;{{}}()]{{0,60}};)"
        ),
    ),
    NOT_ASSIGNED + _TEMPLATE,
    closer=r"[}\]]",
    above=("//", "/*", "*", "template", "[[", "__attribute__"),
)
