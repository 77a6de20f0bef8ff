"""Requests that are made from the OpenAPI document: what fits it and what does not; each is answered as it says."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.adapters.gateway import ADDRESS, opened

STARTING = ("ui_launch",)  # start a program: asked for with what does not fit only
UPSTREAM = (502, 503, 504)  # a server, a disk: not ours, and documented


def failures(gateway, examples):
    """The routes that answer with what they should not, and why."""
    import schemathesis
    from schemathesis.python import asgi

    schema = schemathesis.openapi.from_dict(gateway.app.openapi())
    with asgi.get_client(gateway.app, max_stream_events=1) as session:
        session.headers["Authorization"] = f"Bearer {gateway.owner}"
        found = {each.ok().label: wrong(each.ok(), session, examples) for each in schema.get_all_operations()}
    return {route: why for route, why in found.items() if why}


def wrong(operation, session, examples):
    """What is wrong with the answers of a route, if something is."""
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.core.failures import FailureGroup
    from schemathesis.specs.openapi import checks

    rules = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.response_headers_conformance,
    ]
    cases = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    if operation.definition.raw["operationId"] not in STARTING:
        fitting = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
        cases = fitting | cases  # the first that is drawn fits

    @settings(
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=cases)
    def check(case):
        answer = case.call(base_url=ADDRESS, session=session)
        case.validate_response(answer, checks=rules if answer.status_code in UPSTREAM else [not_a_server_error, *rules])

    try:
        check()
    except FailureGroup as failed:
        return str(failed)
    return None


@pytest.mark.parametrize(
    "examples", [1, pytest.param(5, marks=pytest.mark.slow), pytest.param(500, marks=pytest.mark.soak)]
)
def test_every_route_answers_as_the_document_says(tmp_path, monkeypatch, examples):
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path, mcp=False) as gateway:
        assert failures(gateway, examples) == {}
