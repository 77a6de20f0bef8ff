"""Nothing that a server writes becomes code, and nothing it writes is too much."""

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.node import compile_strictly
from tests.tools.test_tools_stubs import a_tool, checked_by_mypy
from tests.tools.test_tools_validate import SCHEMAS, an_object, doubling, nested

from athand.tools.stubs import LANGUAGES, render_example, render_stubs

HOSTILE = [
    '"""\nimport os; os.system("x")\n"""',
    "*/ process.exit(1); /*",
    "\\",
    '"',
    '""',
    '\\"""',
    "line\u2028two\u2029three\x85four\rfive\x0bsix\x1cseven",
    "\u202eright to left\u200b",
    "\ud800",
    "${process.exit(1)}`",
    "@ts-expect-error",
    "# type: ignore\n# mypy: ignore-errors",
    "'''",
    "{}%s{0}",
    "\0",
    "``` | ```",
]
NAMES = st.sampled_from(
    """
    list class delete __init__ __proto__ 3d größe a-b a.b a_b then ToolResult UNSET answer str match None async 天气
    constructor echo EchoInput
    """.split()
) | st.sampled_from(["", "x" * 200, "import os", *HOSTILE])
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=20)


def statements_are_ours(source):
    """Whether a module of Python has only what the generator writes, wherever its texts come from."""
    runtime = ast.parse(render_stubs([], "python")).body
    for statement in ast.parse(source).body[len(runtime) :]:
        match statement:
            case ast.Expr(ast.Constant(str())) | ast.Assign(value=ast.Call(func=ast.Name("TypedDict"))):
                pass
            case ast.ClassDef(body=body):
                assert all(map(is_member, body)), ast.unparse(statement)
            case _:
                raise AssertionError(ast.unparse(statement))


def is_member(statement):
    match statement:
        case ast.Expr(ast.Constant(str())) | ast.AnnAssign(value=None):
            return True
        case ast.FunctionDef(
            decorator_list=[ast.Name("staticmethod")], body=[*doc, ast.AnnAssign(value=call), ast.Return()]
        ):
            names = {each.func.id for each in ast.walk(call) if isinstance(each, ast.Call)}
            return len(doc) == 1 and isinstance(doc[0].value.value, str) and names <= {"_result", "_structured"}
    return False


LINES = re.compile(
    r"export interface \w+ \{|export const \w+ = \{|\};?|"
    r"  (\w+|\"\")\??: [^;=()]*;|  \[key: string\]: unknown;|"
    r"  \w+: \(args: [^;=()]*( = \{\})?\): Promise<[^;=()]*> =>|    (result|structured<[^;=()]*>)\(\"\", args\),"
)


def lines_are_ours(source):
    """The same of TypeScript, once comments and strings are emptied."""
    own = source[len(render_stubs([], "typescript")) - 1 :]
    emptied = re.sub(
        r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", lambda found: '""' if found[0][0] == '"' else "", own, flags=re.S
    )
    for line in emptied.splitlines():
        assert not line.strip() or LINES.fullmatch(line.rstrip()), line


@pytest.mark.parametrize("many", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_no_text_of_a_server_becomes_code(many):
    @settings(max_examples=many)
    @given(name=NAMES | TEXTS, server=NAMES | TEXTS, text=TEXTS, field=NAMES | TEXTS, value=TEXTS)
    def check(name, server, text, field, value):
        nothing_becomes_code(name, server, text, field, value)

    check()


@pytest.mark.parametrize("text", HOSTILE)
def test_no_hostile_text_becomes_code_wherever_it_stands(text):
    nothing_becomes_code(f"t{text}", f"s{text}", text, text, text)


def nothing_becomes_code(name, server, text, field, value):
    inner = {"type": "object", "description": text, "properties": {field: {"enum": [value], "description": text}}}
    schema = an_object(
        [field], **{field: {"default": value, "description": text, **inner}, f"{field}2": {"enum": [value]}}
    )
    tools = [a_tool(name, server, text, schema, inner, title=text), a_tool(f"{name}!", server, text, schema)]
    source = render_stubs(tools, "python", gateway=text)
    statements_are_ours(source)
    compile(source, "made", "exec")
    lines_are_ours(render_stubs(tools, "typescript"))
    compile(render_example(tools[0], "python"), "example", "exec")


@pytest.mark.parametrize("many", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_any_schema_gives_a_module(many):
    @settings(max_examples=many)
    @given(schema=SCHEMAS, output=SCHEMAS)
    def check(schema, output):
        tool = a_tool(input_schema=schema, output_schema=output)
        statements_are_ours(render_stubs([tool], "python"))
        lines_are_ours(render_stubs([tool], "typescript"))
        for language in LANGUAGES:
            assert render_example(tool, language)

    check()


def test_hostile_texts_compile_all_together(tmp_path):
    tools = []
    for at, text in enumerate(HOSTILE):
        fields = {text: {"enum": [text], "description": text, "default": text}, f"f{at}": {"type": "string"}}
        tools.append(a_tool(f"t{at}{text}", text, text, an_object([text], **fields), an_object(**fields), title=text))
    source = render_stubs(tools, "typescript")
    (tmp_path / "made.ts").write_text(source, "utf-8")
    assert compile_strictly(tmp_path / "made.ts") == ""
    assert "Success" in checked_by_mypy(tmp_path, render_stubs(tools, "python"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "schema",
    [*map(doubling, ("allOf", "anyOf", "prefixItems")), {"$ref": "#"}, nested(5_000), {"allOf": [{"$ref": "#"}]}],
)
def test_a_schema_that_grows_without_end_is_cut(schema, language):
    assert len(render_stubs([a_tool(input_schema=schema, output_schema=schema)], language)) < 200_000
