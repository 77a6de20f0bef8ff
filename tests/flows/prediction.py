"""Pages and sessions for the tests of prior knowledge."""

from athand.flows import Observation


def page(screen, *elements, url=None):
    """What is seen on a screen; each element is `test-id:role:name`, the test id may be empty."""
    parts = [element.split(":") for element in elements]
    test_ids = [{"testId": test_id} for test_id, *_ in parts if test_id]
    nodes = [{"role": role, "name": name, **({"testId": id_} if id_ else {})} for id_, role, name in parts]
    a11y = tuple({"ref": f"e{at}", **node} for at, node in enumerate(nodes, 1))
    return Observation(screen, url or f"https://app.example/{screen}", tuple(test_ids), a11y)


def record_session(flows, goal, *steps, **session):
    """A session of (tool, target, page) or (tool, target, page, input); a target that is a word is a test id."""
    begun = flows.start_session(goal=goal, **session)
    return begun.id, [record_step(flows, begun.id, *step) for step in steps]


def record_step(flows, session_id, tool, target, before, given=None, error=None):
    """One recorded step."""
    where = {"testId": target} if isinstance(target, str) else target
    failure = {"code": error, "message": "It went wrong."} if error else None
    return flows.record(session_id, tool=tool, target=where, before=before, input=given, ok=not error, error=failure)


def ask(flows, goal, seen, *steps, **session):
    """What is known in a new session, after these steps."""
    id_, recorded = record_session(flows, goal, *steps, **session)
    return flows.prior_knowledge(id_, seen, previous=recorded[-1] if recorded else None)


def best(known):
    """The action and the preferred target of the first suggestion."""
    first = known.suggested_next_actions[0]
    return first.action, first.preferred_target and first.preferred_target.value
