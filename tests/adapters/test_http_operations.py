"""Everything the Python API does, over HTTP: the same answers, under the same names."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.adapters.gateway import is_problem, opened

from athand.adapters.http.routes import BY_BODY
from athand.adapters.operations import operations
from athand.errors import Unavailable

SCRIPT = "<script>alert('vpn')</script> Staging deploys need the VPN"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operations")
    with opened(folder, location=folder / "r.db", mcp=False) as gateway:
        gateway.post("/v1/memories/add", {"content": SCRIPT, "project": "shop", "id": "m1", "tags": ["ops"]})
        gateway.workspace.athand.tools.add("box", [{"name": "open", "description": SCRIPT, "inputSchema": {}}])
        yield gateway


def test_what_is_added_is_found_with_its_why(gateway):
    found = gateway.get("/v1/search", params={"query": "vpn for staging", "corpora": ["memories"], "limit": 1}).json()
    assert [hit["id"] for hit in found["hits"]] == ["m1"]
    assert found["hits"][0]["why"]["total"] > 0


def test_answers_are_those_of_the_python_api(gateway):
    athand = gateway.workspace.athand
    assert gateway.get("/v1/memories/get", params={"id": "m1"}).json()["content"] == SCRIPT
    (listed,) = gateway.get("/v1/memories/list", params={"project": "shop"}).json()
    (known,) = athand.memories.list(project="shop")
    assert listed == known.to_dict() | {"effective_salience": listed["effective_salience"]}  # it fades while we look
    assert gateway.get("/tools/box__open").json() == athand.tools.describe("box__open").to_dict()


def is_cut(memory, longest):
    return len(memory["content"]) < longest and memory["content"].endswith("answers the whole text)")


def test_long_texts_are_cut_in_lists_and_whole_where_one_is_asked_for(tmp_path):
    with opened(tmp_path, mcp=False) as gateway:
        text = "ä" * 490_000
        ids = [
            gateway.post("/v1/memories/add", {"content": f"{n} {text}", "project": "long"}).json()["id"]
            for n in range(9)
        ]
        listed = gateway.get("/v1/memories/list", params={"project": "long", "limit": 100}).json()
        around = gateway.get("/v1/memories/timeline", params={"anchor_id": ids[4], "before": 100, "after": 100}).json()
        assert len(listed) == 9 and len(around["before"]) == len(around["after"]) == 4
        for memory in (*listed, *around["before"], around["anchor"], *around["after"]):
            assert is_cut(memory, 25_000)
        for id_ in ids[1:]:
            gateway.post("/v1/memories/relate", {"source_id": ids[0], "target_id": id_, "type": "RELATED_TO"})
        related = gateway.get("/v1/memories/related", params={"id": ids[0]}).json()
        assert len(related) == 8 and all(is_cut(each["memory"], 260_000) for each in related)
        for dry_run in (True, False):
            forgotten = gateway.post("/v1/memories/forget", {"project": "long", "dry_run": dry_run}).json()
            assert len(forgotten) == 9 and all(is_cut(memory, 230_000) for memory in forgotten)
        for id_ in ids:
            gateway.post("/v1/memories/restore", {"id": id_})
        assert gateway.get("/v1/memories/get", params={"id": ids[0]}).json()["content"] == f"0 {text}"
        assert len(gateway.workspace.athand.memories.list(project="long")[0].content) == 490_002


def test_long_texts_of_hits_are_cut_and_what_was_asked_for_is_shown_from_the_whole(tmp_path):
    with opened(tmp_path, mcp=False) as gateway:
        text = f"The walrus sleeps. {'ä' * 490_000}. The walrus wakes at dawn."
        gateway.post("/v1/memories/add", {"content": text, "project": "long"})
        for path in ("/v1/memories/search", "/v1/search"):
            (hit,) = gateway.get(path, params={"query": "walrus", "project": "long"}).json()["hits"]
            assert is_cut(hit["item"], 101_000) and hit["text"] == hit["item"]["content"]
            assert "wakes" in hit["highlights"][-1]
        assert gateway.workspace.athand.memories.search("walrus")[0].text == text


def test_lists_and_absent_values_fit_into_an_address(gateway):
    found = gateway.get("/v1/memories/list", params=[("tags", "ops"), ("tags", "none")])
    assert found.status_code == 200
    assert gateway.get("/v1/memories/list").json()


def test_what_can_be_asked_by_address_changes_nothing(gateway):
    for path, methods in gateway.app.openapi()["paths"].items():
        for method, route in methods.items():
            operation = operations().get(route["operationId"].removesuffix(BY_BODY))
            if path.startswith("/v1/") and operation is not None:
                assert method == "post" or operation.kind == "read", path


def test_every_read_is_asked_by_get_or_by_post_and_nothing_else_by_get(gateway):
    paths = gateway.app.openapi()["paths"]
    for operation in operations().values():
        methods = {"get", "post"} if operation.kind == "read" else {"post"}
        assert paths[f"/v1/{operation.path}"].keys() == methods, operation.path


def test_what_changes_something_refuses_a_get_and_names_post(gateway):
    for operation in operations().values():
        if operation.kind != "read":
            answer = gateway.get(f"/v1/{operation.path}")
            assert is_problem(answer, 405), operation.path
            assert answer.headers["allow"] == "POST"


QUERIES = {
    "memories/search": {
        "query": "vpn for staging",
        "tags": ["ops", "ops"],
        "limit": 3,
        "min_score": 0.01,
        "include_superseded": True,
        "weights": {"keyword": 1.0, "sector": {"semantic": 0.5}},
    },
    "search": {"query": "[{ 100% & ü?", "corpora": ["memories", "tools"], "limit": 2},
    "flows/search": {"query": "kettle", "scope": {"session": "none"}, "filters": {"app": "shop"}},
    "flows/sessions": {"filters": {"app": "shop", "since_hours": 1.5}},
    "memories/list": {"project": "shop", "pinned": False},
}


@pytest.mark.parametrize("path", QUERIES)
def test_the_same_question_has_the_same_answer_by_get_and_by_post(gateway, path):
    by_post = gateway.post(f"/v1/{path}", QUERIES[path])
    query = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in QUERIES[path].items()}
    by_get = gateway.get(f"/v1/{path}", params=query)
    assert by_get.status_code == by_post.status_code
    assert shape(by_get.json()) == shape(by_post.json())
    assert by_get.headers["cache-control"] == "no-store"


def shape(answer):
    """An answer without its numbers, which change a little with each look."""
    if isinstance(answer, dict):
        return {
            name: shape(value) for name, value in answer.items() if name not in ("last_accessed_at", "access_count")
        }
    if isinstance(answer, list):
        return [shape(each) for each in answer]
    return None if isinstance(answer, float) else answer


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("", "query"),
        ("query=x&colour=red", "colour"),
        ("query=x&limit=many", "limit"),
        ("query=x&include_superseded=perhaps", "include_superseded"),
        ("query=x&weights=words", "weights"),
        ('query=x&weights={"colour": 1}', "weights"),
        ('query=x&weights={"keyword": ', "weights"),
        ("query=x&weights=" + "[" * 65 + "]" * 65, "64 levels"),
        ("query=x&weights=" + "[" * 15_000, "64 levels"),
    ],
)
def test_a_query_string_that_cannot_be_used_is_a_problem_that_says_where(gateway, query, wrong):
    answer = gateway.get(f"/v1/memories/search?{query}")
    assert is_problem(answer, 422)
    assert wrong in answer.json()["detail"]


def test_brackets_in_plain_words_are_no_json(gateway):
    assert gateway.get("/v1/memories/search", params={"query": "[" * 1000}).status_code == 200


def test_a_body_that_holds_nothing_needed_may_be_left_out(gateway):
    assert gateway.ask("POST", "/v1/memories/forget").status_code in (200, 422)
    assert is_problem(gateway.ask("POST", "/v1/memories/add"), 422)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("memories/add", {"content": "x", "colour": "red"}, 422, "colour"),
        ("memories/add", {"content": ["x"]}, 422, "content"),
        ("memories/update", {"id": "nobody", "content": "x"}, 404, "nobody"),
        ("memories/add", {"content": "other words", "id": "m1"}, 409, "m1"),
        ("tools/call", {"id": "box__closed"}, 404, "box__closed"),
    ],
)
def test_what_is_wrong_is_said_with_its_status(gateway, path, body, status, said):
    answer = gateway.post(f"/v1/{path}", body)
    assert is_problem(answer, status)
    assert said in answer.json()["detail"]


def test_the_kind_of_an_error_is_there_for_programs(gateway):
    assert gateway.get("/v1/memories/get", params={"id": "x"}).json()["type"] == "urn:athand:error:NotFound"
    assert gateway.get("/v1/browser/get_state").json()["code"] == "NOT_LAUNCHED"


def test_stored_script_is_inert(gateway):
    for path in ("/v1/memories/get?id=m1", "/tools/box__open", "/search?query=open+box"):
        answer = gateway.get(path)
        assert "<script>" in answer.text
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_document_describes_every_operation(gateway):
    document = gateway.get("/openapi.json").json()
    described = {route["operationId"]: route for path in document["paths"].values() for route in path.values()}
    assert document["openapi"].startswith("3.1")
    for name, operation in operations().items():
        answers = described[name]["responses"]
        assert answers["200"]["content"]["application/json"]["schema"] == operation.answer
        assert {"400", "401", "403", "404", "413", "421", "422", "429", "503", "504"} < answers.keys()
        assert described[name]["security"] == [{"token": [operation.scope]}]
        assert described[name]["tags"] == [operation.toolset]
    assert "500" not in json.dumps(list(described["search"]["responses"]))


def test_the_page_shows_every_route_and_runs_no_script(gateway):
    answer = gateway.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "script" not in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert "http" not in answer.text.replace(str(gateway.client.base_url).rstrip("/"), "").lower().replace(
        "httponly", ""
    )
    for name in operations():
        assert f'id="{name}"' in answer.text


def test_the_page_escapes_whatever_the_document_holds():
    from athand.adapters.http.docs_page import render_docs

    evil = "<img src=x onerror=alert(1)>\"'"
    schema = {"type": "string", "enum": [evil], "default": evil}
    parameter = {"name": evil, "in": "query", "required": True, "description": evil, "schema": schema}
    route = {"operationId": evil, "tags": [evil], "description": evil, "parameters": [parameter], "responses": {}}
    page = render_docs(
        {"info": dict.fromkeys(("title", "version", "description"), evil), "paths": {f"/{evil}": {"get": route}}}, evil
    )
    assert "<img" not in page
    assert '="<' not in page


def test_a_server_that_can_answer_says_so(gateway):
    assert gateway.get("/healthz", "").json() == {"alive": True}
    assert gateway.get("/readyz", "").json() == {"ready": True, "store": "readable", "model": "working"}


def test_a_store_that_cannot_be_read_is_told_without_its_secrets(tmp_path, monkeypatch, caplog):
    def broken():
        raise Unavailable("postgresql://me:secret@db cannot be reached.")

    with opened(tmp_path, mcp=False) as gateway:
        monkeypatch.setattr(gateway.workspace.athand, "status", broken)
        answer = gateway.get("/readyz", "")
        assert is_problem(answer, 503)
        assert "secret" not in answer.text
        assert "cannot be reached" in caplog.text
        assert gateway.get("/healthz", "").status_code == 200
        assert "athand_items" not in gateway.get("/metrics").text


def test_numbers_are_there_for_prometheus(gateway):
    gateway.get("/v1/search", params={"query": "secret words"})
    gateway.get("/v1/memories/get", params={"id": "nobody"})
    gateway.get("/not/a/route")
    text = gateway.get("/metrics").text
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["athand_http_requests_total", "/v1/search", "200", "GET"] >= 1
    assert samples["athand_http_requests_total", "404", "GET", "other"] >= 1
    assert samples["athand_operations_total", "NotFound", "memory_get"] >= 1
    assert samples["athand_operations_total", "ok", "search"] >= 1
    assert samples["athand_http_seconds_count", "/v1/search"] >= 1
    assert samples["athand_items", "memories"] == 1
    assert samples["athand_http_in_flight",] == 1
    assert samples["athand_store_bytes",] > 0
    assert samples["process_resident_memory_bytes",] > 0
    assert "secret" not in text
