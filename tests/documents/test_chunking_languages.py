import pytest

from athand.documents.chunking import extract_outline
from athand.documents.extract import Extract, FileKind

# What is defined in each (with _ for blanks), and the source, line by line.
SOURCES = [
    (
        "javascript",
        "A run f go",
        "export default class A extends B {\n"
        "  async run(x) {\n"
        "    if (x) {\n"
        "    }\n"
        "  }\n"
        "}\n"
        "const f = (a) => a;\n"
        "exports.go = function () {};\n",
    ),
    (
        "typescript",
        "Shape Id A it",
        "export interface Shape { a: string }\n"
        "type Id = string;\n"
        "abstract class A<T> {\n"
        "  private get it(): T {\n"
        "  }\n"
        "}\n",
    ),
    (
        "go",
        "Handle Router",
        "func (r *Router) Handle(p string) {\n}\ntype Router struct {\n}\n",
    ),
    (
        "rust",
        "Guard drop MAX go",
        "impl<T> Drop for Guard<T> {\n"
        "    fn drop(&mut self) {\n"
        "    }\n"
        "}\n"
        "pub const MAX: u8 = 1;\n"
        "macro_rules! go {\n"
        "}\n",
    ),
    (
        "java",
        "A names A",
        "public class A {\n"
        "    @Override\n"
        "    public List<String> names(int a) throws E {\n"
        "        return call(a);\n"
        "    }\n"
        "    A() {\n"
        "    }\n"
        "}\n",
    ),
    (
        "csharp",
        "N P X Go",
        "namespace N {\n"
        "    public record P {\n"
        "        public int X { get; set; }\n"
        "        public async Task<int> Go() => 1;\n"
        "    }\n"
        "}\n",
    ),
    (
        "c",
        "MAX add point",
        "#define MAX 3\nstatic int\nadd(int a, int b)\n{\n    return sum(a, b);\n}\nstruct point {\n    int x;\n};\n",
    ),
    (
        "cpp",
        "n Box Box get n::Box::set",
        "namespace n {\n"
        "template <class T>\n"
        "class Box : public Base {\n"
        " public:\n"
        "  Box() : a_(1) {}\n"
        "  T get() const { return a_; }\n"
        "};\n"
        "}\n"
        "void n::Box::set(int a) {\n"
        "}\n",
    ),
    (
        "ruby",
        "M A ready?",
        "module M\n  class A < B\n    def ready?\n    end\n  end\nend\n",
    ),
    (
        "php",
        "A go",
        "<?php\nfinal class A {\n    public static function go(): int {\n    }\n}\n",
    ),
    (
        "kotlin",
        "P go",
        "data class P(val x: Int)\nfun String.go() {\n}\n",
    ),
    (
        "swift",
        "S init go",
        "struct S {\n    init(a: Int) {\n    }\n    func go() {\n    }\n}\n",
    ),
    (
        "shell",
        "LIMIT build deploy",
        "LIMIT=3\nbuild() {\n  make\n}\nfunction deploy {\n}\n",
    ),
    (
        "sql",
        "users total",
        "CREATE TABLE IF NOT EXISTS public.users (\n id int\n);\ncreate or replace function total() returns int;\n",
    ),
    (
        "makefile",
        "build test",
        "NAME := x\nbuild: a.c\n\tcc a.c\ntest: build\n",
    ),
    (
        "terraform",
        "aws_s3_bucket.logs region",
        'resource "aws_s3_bucket" "logs" {\n}\nvariable "region" {\n}\n',
    ),
    (
        "protobuf",
        "User Users Get",
        "message User {\n  string name = 1;\n}\nservice Users {\n  rpc Get(Id) returns (User);\n}\n",
    ),
    (
        "vue",
        "template script go",
        "<template>\n</template>\n<script>\nfunction go() {\n}\n</script>\n",
    ),
    (
        "lua",
        "go M.run",
        "local function go(a)\nend\nM.run = function()\nend\n",
    ),
    (
        "elixir",
        "A.B go",
        "defmodule A.B do\n  def go(x) do\n  end\nend\n",
    ),
    (
        "haskell",
        "Tree size",
        "data Tree = Leaf\nsize :: Tree -> Int\nsize _ = 1\n",
    ),
    (
        "clojure",
        "a.b go",
        "(ns a.b)\n(defn go [x]\n  x)\n",
    ),
    (
        "css",
        ".box_>_a @media_print",
        ".box > a {\n  color: red;\n}\n@media print {\n}\n",
    ),
    (
        "dockerfile",
        "python:3.11_AS_build",
        "FROM python:3.11 AS build\nRUN make\n",
    ),
    (
        "unknown",
        "A go",
        "class A {\n}\nfunction go() {\n}\n",
    ),
]


@pytest.mark.parametrize(("language", "defined", "text"), SOURCES, ids=[source[0] for source in SOURCES])
def test_definitions_of_many_languages_are_named(language, defined, text):
    found = extract_outline(Extract(text), FileKind("code", language))
    assert [heading.title.replace(" ", "_") for heading in found] == defined.split()
    lines = text.splitlines()
    assert all(
        heading.title.split(".logs")[0] in "".join(lines[heading.line - 1 : heading.line + 2]) for heading in found
    )
