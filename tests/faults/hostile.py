"""Queries that nobody asks in good faith, and random mixtures of them."""

MEGABYTE = 1_000_000
KNOWN = "deploy staging vpn ticket kettle add-to-cart read_file shop notes deploying.md".split()
HANDMADE = (
    *("", " ", "\t\n\r", '"', "'", "''", '""', '"a', 'a"b"c', "`", "\\", "\\'", "a\\", "(", ")", "()", "((((", "*"),
    *("NEAR(", "NEAR(a b, 2)", "NEAR(a,", "a NEAR/2 b", "a AND", "AND", "OR OR", "NOT a", "^a", "a:b", "content:"),
    *("-a", "+a", "a*", "{a b}:c", "a + b", '"a" "b', "col : (a OR b)", "MATCH", "a ' MATCH 'b", "MATCH 'bm25(10)'"),
    *("'; DROP TABLE memories; --", "1 OR 1=1", "' UNION SELECT * FROM tokens --", "%' OR 1=1 --", "\\x00", "\0"),
    *("a\0b", "\0" * 100, "\ud800", "\udfff", "a\ud800b", "\ud83d", "\udca9\ud83d", "\uffff", "\ufffe", "\ufeffa"),
    *("\u202eabc", "\u200f\u200e\u202a\u202b\u202c", "\u2066a\u2069", "\u200b\u200d", "e\u0301" * 50),
    *(
        "Z" + "\u0335" * 500,
        "👩\u200d👩\u200d👧",
        "🇩🇪🇦🇹",
        "😀" * 300,
        "漢字かな交じり文",
        "한국어",
        "ไม่มีช่องว่าง",
        "İıſß",
    ),
    *("../../../../etc/passwd", "..\\..\\windows", "/dev/zero", "file:///etc/passwd", "%2e%2e%2f", "C:\\con"),
    *("%s%s%n", "%x" * 50, "{0.__class__}", "{}", "${jndi:ldap://a}", "{{7*7}}", "$(id)", "`id`", "%(a)s", "%%"),
    *("(a+)+$", "(" * 500 + ")" * 500, "a" * 50 + "!", "[[[[[", "[z-a]", "(?P<a", "\\1", ".*" * 100, "a{1,99999}"),
    *("<script>alert(1)</script>", "<!--", "]]>", "<mark>", "&lt;", "javascript:alert(1)", '"><img src=x onerror=1>'),
    *("[" * 1000, '{"a":' * 1000, "null", "true", "NaN", "-0", "1e999", "9" * 400, "0x41", "\x1b[31m", "\x07\x08"),
    *(
        "\x7f",
        "\u2028\u2029",
        "\x85",
        "\u180e",
        "a\u00adb",
        "\x00\x01\x1f",
        "None",
        "undefined",
        "__proto__",
        "ﷺ" * 100,
    ),
)
# What a megabyte is made of.
UNITS = (
    *("x", "word ", "' ", '"', "\u202e", "(a+)+", "😀", "e\u0301", "ab cd ef ", "\ud800 ", "\0", "(", "../", "漢"),
    *("a_bC9-", "[", "\\", "%s", "\U000e0067"),
)


def a_megabyte(unit):
    return (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]


def a_query(random):
    """One hostile query; one in a few hundred is a megabyte long."""
    if random.random() < 0.003:
        return a_megabyte(random.choice(UNITS))
    if random.random() < 0.1:
        return random.choice(HANDMADE)
    query = random.choice(("", " ", '"', "\n")).join(_piece(random) for _ in range(random.randint(1, 6)))
    return query * random.choice((1, 1, 1, 1, 2, 30)) if len(query) < 300 else query


def _piece(random):
    """Something handmade, characters of any kind, characters of Europe, or a word that is in the store."""
    kind = random.randrange(4)
    if kind == 0:
        return random.choice(HANDMADE)
    if kind == 3:
        return random.choice(KNOWN)
    last = (0x110000, 0x250)[kind - 1]
    return "".join(chr(random.randrange(last)) for _ in range(random.randint(1, 16)))
