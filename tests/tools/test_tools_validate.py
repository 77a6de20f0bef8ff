import contextlib
import itertools
import json
import time
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athand.errors import InvalidInput
from athand.tools.validate import validate_arguments

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = """
    $ref $dynamicRef $id $anchor $schema $defs definitions type properties required additionalProperties items
    prefixItems anyOf oneOf allOf not if then else enum const minimum exclusiveMinimum multipleOf minLength pattern
    patternProperties dependencies dependentRequired dependentSchemas contains propertyNames uniqueItems default
    description nullable
""".split()
WORDS = st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#a", "a", "b", "string", "str", "object", "int", "x:y#z"])
SCHEMAS = st.recursive(
    ANYTHING | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b"]), inner, max_size=4)
    ),
    max_leaves=20,
)


def an_object(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


def prepared(value, schema):
    return validate_arguments({"it": value}, an_object(it=schema))["it"]


def refusal(arguments, schema):
    with pytest.raises(InvalidInput) as refused:
        validate_arguments(arguments, schema)
    return str(refused.value)


@pytest.mark.parametrize(
    ("given", "schema", "meant"),
    [
        ("5", {"type": "integer"}, 5),
        ("5.0", {"type": "integer"}, 5),
        (5.0, {"type": "integer"}, 5),
        ("-2.5", {"type": "number"}, -2.5),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("null", {"type": ["integer", "null"]}, None),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ('{"a": "1"}', {"type": "object", "properties": {"a": {"type": "integer"}}}, {"a": 1}),
        (["1", "2"], {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        (["1", "x"], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [1, "x"]),
        ({"k": "1"}, {"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1}),
        ("3", {"enum": [1, 2, 3]}, 3),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("5", {"oneOf": [{"type": "boolean"}, {"type": "integer"}]}, 5),
        ("5", {"allOf": [{"type": "integer"}, {"minimum": 1}]}, 5),
        (5, {"type": "string"}, "5"),
        ("5", {"type": "int"}, 5),
        (7, {"type": "array", "items": {"type": "integer"}}, [7]),
        (("1",), {"type": "array", "items": {"type": "integer"}}, [1]),
        ("main.py", {"type": "array", "items": {"type": "string"}}, ["main.py"]),
    ],
)
def test_a_value_becomes_what_the_schema_asks_for(given, schema, meant):
    result = prepared(given, schema)
    assert result == meant
    assert type(result) is type(meant)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("5", {"type": "string"}),
        ("true", {"type": ["boolean", "string"]}),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("[1]", {}),
        (True, {"type": "boolean"}),
        ("x", {"type": "nonsense"}),
        (None, {"type": "string", "nullable": True}),
    ],
)
def test_a_value_that_may_be_as_it_is_stays(value, schema):
    assert prepared(value, schema) == value


@pytest.mark.parametrize("value", ["a, b", "[broken", "a\nb"])
def test_a_text_that_may_have_been_meant_as_a_list_is_not_made_one_item(value):
    assert "must be a list" in refusal({"it": value}, an_object(it={"type": "array", "items": {"type": "string"}}))


def test_arguments_come_as_an_object_as_its_text_or_not_at_all():
    schema = an_object(a={"type": "integer"})
    assert validate_arguments('{"a": 1}', schema) == validate_arguments({"a": 1}, schema) == {"a": 1}
    assert validate_arguments(None, schema) == validate_arguments("", schema) == {}
    assert "must be an object, not [1]" in refusal("[1]", schema)


def test_values_are_coerced_through_references_also_to_itself():
    tree = an_object(size={"type": "integer"}, below={"type": "array", "items": {"$ref": "#/$defs/tree"}})
    schema = an_object(root={"$ref": "#/$defs/tree"}) | {"$defs": {"tree": tree}}
    given = {"root": {"size": "1", "below": [{"size": "2", "below": [{"size": "3"}]}]}}
    assert validate_arguments(given, schema) == {"root": {"size": 1, "below": [{"size": 2, "below": [{"size": 3}]}]}}


def test_all_that_is_wrong_is_said_with_its_place_and_the_schema():
    inner = an_object(["x"], x={"type": "integer"}) | {"additionalProperties": False}
    schema = an_object(["path"], path={"type": "string"}, mode={"enum": ["r", "w"]}, box=inner)
    said = refusal({"paht": "a", "mode": "rw", "box": {"y": 1, "x": "z"}}, schema)
    assert '"path" is missing' in said
    assert "no argument 'paht'; did you mean 'path'?" in said
    assert 'mode: must be one of "r", "w", not "rw"' in said
    assert "box: there is no argument 'y'" in said
    assert 'box/x: must be a whole number, not "z"' in said
    assert json.dumps(schema, separators=(",", ":")) in said


def test_an_unknown_argument_is_the_servers_business_unless_the_schema_forbids_it():
    schema = an_object(path={"type": "string"})
    assert validate_arguments({"path": "a", "extra": 1}, schema) == {"path": "a", "extra": 1}
    assert "did you mean 'path'" in refusal({"paths": "a"}, schema | {"additionalProperties": False})


def test_a_long_schema_is_cut_in_the_message():
    schema = an_object(["a"], a={"type": "string", "description": "long " * 5_000})
    assert len(refusal({}, schema)) < 4_300


def test_defaults_are_left_to_the_server():
    assert validate_arguments({}, an_object(a={"type": "integer", "default": 5})) == {}


def test_older_drafts_mean_what_they_said():
    old = {"$schema": "http://json-schema.org/draft-04/schema#"}
    assert "it" in refusal({"it": 1}, old | an_object(it={"minimum": 1, "exclusiveMinimum": True}))
    pair = {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False}
    assert validate_arguments({"it": ["1", "x"]}, old | an_object(it=pair)) == {"it": [1, "x"]}
    assert "it/2" in refusal({"it": [1, "x", 2]}, old | an_object(it=pair))


def test_what_no_schema_can_mean_is_not_checked():
    schema = an_object(a={"type": "wibble", "minimum": "many", "enum": 5}, b={"type": "int"}) | {"required": "a"}
    assert validate_arguments({"a": object, "b": "3"}, schema) == {"a": object, "b": 3}


def test_no_reference_leads_out_of_the_schema(monkeypatch):
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("it was fetched"))
    assert prepared(1, {"$ref": "http://127.0.0.1:9/schema.json"}) == 1
    assert prepared(1, {"$ref": "file:///etc/passwd"}) == 1


def doubling(keyword):
    levels = {f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(60)}
    return an_object(it={"$ref": "#/$defs/d0"}) | {"$defs": levels | {"d60": {"type": "string"}}}


def nested(depth):
    schema = {}
    for _ in range(depth):
        schema = {"properties": {"it": schema}}
    return schema


@pytest.mark.parametrize("steps", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "schema",
    [
        *map(doubling, ("allOf", "anyOf", "oneOf", "prefixItems")),
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        nested(5_000),
        an_object(it={"pattern": "(x+x+)+y"}, patternProperties={"(x+x+)+y": {}}),
        {"patternProperties": {"(i+i+)+y": {"type": "integer"}}, "additionalProperties": False},
        an_object(it={"anyOf": [{"minimum": at, "type": "null"} for at in range(20_000)]}),
    ],
)
def test_a_schema_made_to_hang_is_given_up(schema, steps, monkeypatch):
    monkeypatch.setattr("athand.tools.validate._MOST_STEPS", steps)
    with contextlib.suppress(InvalidInput):
        assert validate_arguments({"it": "x" * 50_000}, schema) == {"it": "x" * 50_000}


def test_a_schema_whose_steps_are_slow_is_given_up_when_its_time_is_over(monkeypatch):
    clock = itertools.count(0, 0.125)
    monkeypatch.setattr("athand.tools.validate.time", SimpleNamespace(thread_time=lambda: next(clock)))
    assert validate_arguments({"it": "x"}, doubling("oneOf")) == {"it": "x"}
    assert 2.0 < next(clock) <= 2.5


def test_a_machine_that_stands_still_for_a_while_leaves_nothing_unchecked(monkeypatch):
    later = itertools.count(0, 60)
    monkeypatch.setattr(time, "monotonic", lambda: next(later))
    with pytest.raises(InvalidInput, match="must be"):
        validate_arguments({"it": "x"}, an_object(it={"type": "integer"}))


def test_arguments_nested_without_end_are_passed_on():
    arguments = {}
    for _ in range(5_000):
        arguments = {"it": arguments}
    assert validate_arguments(arguments, an_object(it={"$ref": "#"})) is not None


@pytest.mark.parametrize("many", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_any_schema_and_any_arguments_are_answered(many):
    @settings(max_examples=many)
    @given(schema=SCHEMAS, arguments=st.dictionaries(st.sampled_from(["a", "b", "type"]), ANYTHING, max_size=3))
    def check(schema, arguments):
        try:
            assert isinstance(validate_arguments(arguments, schema), dict)
        except InvalidInput as refused:
            assert "The schema: " in str(refused)

    check()


def test_a_number_too_large_to_be_held_is_refused():
    assert "must be a number" in refusal({"n": "1e400"}, an_object(n={"type": "number"}))


def test_thousands_of_unknown_names_are_refused_in_time():
    known = {f"known_{at}" * 10: {} for at in range(3_000)}
    given = {f"unknown_{at}" * 10: 1 for at in range(3_000)}
    began = time.thread_time()
    assert refusal(given, {**an_object(**known), "additionalProperties": False}).count("\n- ") == 21
    assert time.thread_time() - began < 60


def test_an_invisible_character_of_a_schema_is_made_visible_in_the_message():
    assert "\u202e" not in refusal({}, an_object(["a"], a={"description": "a\u202eb"}))
