"""What surfaces rely on: every operation says what it is, and takes and answers what its schemas say."""

import json
from dataclasses import dataclass

import pytest
from jsonschema import Draft202012Validator
from tests.adapters.operations_kit import arguments, opened

from athand.adapters.operations import ALWAYS, KINDS, SCOPES, list_toolsets, operations
from athand.adapters.operations.answers import schema_of
from athand.adapters.operations.table import OPERATIONS
from athand.corpus import Corpus
from athand.documents import Documents
from athand.errors import InvalidInput
from athand.memories import Memories

EVERY = list(operations().values())
OURS = [each for each in EVERY if each.toolset in (ALWAYS, "memories", "documents", "store")]


def named(each):
    return each.name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("operations")


@pytest.fixture(scope="module")
def workspace(folder):
    with opened(folder) as workspace:
        yield workspace


@pytest.fixture(scope="module")
def given(workspace, folder):
    return arguments(workspace, folder)


@pytest.mark.parametrize("operation", OURS, ids=named)
def test_an_operation_answers_as_its_schema_says(workspace, given, operation):
    answer = operation.perform(workspace, given[operation.name])
    Draft202012Validator(operation.answer).validate(json.loads(json.dumps(answer)))
    assert answer or operation.name == "check_store"  # something was there to be answered
    Draft202012Validator(operation.parameters).validate(
        {name: value for name, value in given[operation.name].items() if value is not None}
    )


@pytest.mark.parametrize("operation", EVERY, ids=named)
def test_an_operation_says_what_it_is(operation):
    assert operation.title
    assert operation.description
    assert operation.toolset in (ALWAYS, *list_toolsets())
    assert operation.scope in SCOPES
    assert operation.kind in KINDS
    for name, parameter in operation.parameters["properties"].items():
        assert parameter.get("description"), name


@pytest.mark.parametrize("operation", EVERY, ids=named)
def test_schemas_are_valid_and_short(operation):
    for schema in (operation.parameters, operation.answer):
        Draft202012Validator.check_schema(schema)
        assert not {"title", "$ref", "$defs"} & _keys(schema)
    assert operation.parameters["type"] == "object"
    assert operation.parameters["additionalProperties"] is False
    assert len(json.dumps(operation.answer)) < 4000


def _keys(schema):
    """All words of JSON Schema in it; the names of properties are not."""
    if isinstance(schema, list):
        return set().union(*map(_keys, schema))
    if not isinstance(schema, dict):
        return set()
    inside = [value for key, value in schema.items() if key not in ("properties", "enum", "default", "required")]
    return set(schema).union(*map(_keys, [*inside, *schema.get("properties", {}).values()]))


@pytest.mark.parametrize("operation", EVERY, ids=named)
def test_who_may_only_search_changes_nothing(operation):
    assert operation.kind == "read" or operation.scope != "search"
    assert operation.kind != "read" or operation.scope != "write"


def test_no_two_operations_have_a_name_or_a_path_in_common():
    assert len({each.path for each in OPERATIONS}) == len({each.name for each in OPERATIONS}) == len(OPERATIONS)


NOT_FROM_AFAR = set(
    "close corpus count embed_missing fingerprint last_change open projects reindex search_project watch".split()
)


@pytest.mark.parametrize("service", [Memories, Documents])
def test_what_python_can_do_with_a_corpus_every_surface_can(service):
    corpus = service.__name__.lower()
    own = {name for name, each in vars(service).items() if callable(each) and not name.startswith("_")}
    methods = {name.rstrip("_") for name in own - vars(Corpus).keys()} - NOT_FROM_AFAR
    assert {f"{corpus}/{name}" for name in methods} == {each.path for each in OURS if each.toolset == corpus}


def check(name, **given):
    return operations()[name].check(given)


def test_what_only_python_callers_may_give_is_not_offered():
    root = operations()["ui_accessibility_snapshot"].parameters["properties"]["root"]
    assert root["type"] == "string"
    with pytest.raises(InvalidInput, match="root"):
        check("ui_accessibility_snapshot", root={"testId": "menu"})


def test_a_list_or_an_object_may_come_as_json_in_a_string():
    taken = check("memory_search", query="x", tags='["a", "b"]', weights=json.dumps({"semantic": 1} | ZERO))
    assert taken.tags == ("a", "b")
    assert taken.weights.semantic == 1
    assert check("search", query="x", corpora=' ["memories"]').corpora == ("memories",)


ZERO = {"keyword": 0, "salience": 0, "recency": 0}


@pytest.mark.parametrize("wrong", ["a", '"a"', "[1", "{}", '[["a"]]', "[" * 100_000, {"a": 1}, 7])
def test_what_is_no_list_is_refused_where_one_is_wanted(wrong):
    with pytest.raises(InvalidInput, match="tags"):
        check("memory_search", query="x", tags=wrong)


def test_null_stands_for_what_is_left_out_but_not_for_what_is_needed():
    taken = check("memory_search", query="x", tags=None, limit=None, mode=None, project=None)
    assert (taken.tags, taken.limit, taken.mode, taken.project) == ((), 10, "hybrid", None)
    with pytest.raises(InvalidInput, match="query"):
        check("memory_search", query=None)


def test_numbers_may_come_as_text():
    assert check("memory_search", query="x", limit="5").limit == 5


def test_all_that_is_wrong_is_named_at_once_and_what_is_known_with_it():
    with pytest.raises(InvalidInput) as refused:
        check("memory_timeline", before=-1, afterwards=3)
    said = str(refused.value)
    assert all(word in said for word in ("anchor_id", "before", "afterwards is not known", "known: anchor_id"))


@pytest.mark.parametrize(
    "given", [{"tier": "x" * 100_000}, {"x" * 100_000: 1}, {"\ud800\n": 1}, {"tags": list(range(10_000))}]
)
def test_a_complaint_is_short_and_can_be_printed(given):
    with pytest.raises(InvalidInput) as refused:
        check("memory_list", **given)
    assert len(str(refused.value).encode()) < 1500


@pytest.mark.parametrize("given", [None, [], "text", 7, [["query", "x"]]])
def test_arguments_that_are_no_object_are_refused(given):
    with pytest.raises(InvalidInput, match="arguments"):
        operations()["memory_get"].check(given)


def test_fields_of_a_memory_are_emptied_only_when_that_is_said(workspace):
    add, update = operations()["memory_add"], operations()["memory_update"]
    made = add.perform(workspace, {"content": "Rooms are named after rivers", "author": "Ann", "context": "offices"})
    after = update.perform(workspace, {"id": made["id"], "author": None, "importance": 0.9, "clear": ["context"]})
    assert (after["author"], after["context"], after["importance"]) == ("Ann", None, 0.9)
    both = update.perform(workspace, {"id": made["id"], "author": "Bob", "clear": ["author"]})
    assert both["author"] is None


def test_indexing_anew_tells_how_far_it_is(workspace):
    seen = []
    operations()["reindex"].perform(workspace, {}, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert all(done <= total for done, total in seen)
    assert seen == sorted(seen)


@dataclass(frozen=True)
class Branch:
    name: str
    above: "Branch | None"
    beside: "list[Branch]"


def test_a_noun_that_holds_itself_is_described_once():
    schema = schema_of(Branch)
    assert schema["properties"]["above"] == {"type": ["object", "null"]}
    assert schema["properties"]["beside"] == {"type": "array", "items": {"type": "object"}}
