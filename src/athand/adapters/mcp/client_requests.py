"""The client behind a call: asked and told from any thread while the call runs, in both protocol generations.

With a handshake, a question is a request of its own. Since 2026-07-28 the answer to the call is the question, and the
client repeats the call with its answer; meanwhile the operation waits in its thread.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from mcp import MCPError, types
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from athand.adapters.mcp.notifications import (
    LEVELS,
    NotificationSender,
    ProgressReporter,
    RequestContext,
    make_log_sender,
    requested_levels,
)
from athand.adapters.operations import Caller
from athand.tools.relay import ELICIT, LIST_ROOTS, SAMPLE, ClientCannot

_ANSWER_SECONDS = 300.0  # a person may have to read, think and type
_MOST_OPEN = 8  # questions of one caller: each of them holds a thread
_NAMES = {ELICIT: "elicitation", SAMPLE: "sampling", LIST_ROOTS: "roots"}
_RESULTS: Mapping[str, type[Any]] = {
    ELICIT: types.ElicitResult,
    SAMPLE: types.CreateMessageResult,
    LIST_ROOTS: types.ListRootsResult,
}
_REQUESTS: TypeAdapter[types.InputRequest] = TypeAdapter(types.InputRequest)

Answer = Future[dict[str, Any]]


@dataclass(slots=True)
class _Question:
    request: types.InputRequest
    answer: Answer
    is_sent: bool = False


class ClientChannel:
    """Created on the event loop; `attach` names the request that waits for the call at present."""

    def __init__(self, context: RequestContext, caller: Caller, open_questions: Counter[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self.owner = caller.name
        # Roots are folders of this machine: a token over the network may not name them, only its owner.
        self._may_name_folders = context.request is None or caller.is_owner
        self._open_questions = open_questions  # by caller, over all calls
        self._sender = NotificationSender(context)
        self.progress = ProgressReporter(self._sender)
        self._questions: dict[str, _Question] = {}
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stops: list[Callable[[], object]] = []
        self._is_closed = False
        self.has_questions = asyncio.Event()  # for the client to answer by repeating the call

    # From any thread

    def request(self, method: str, params: Mapping[str, Any]) -> Answer:
        """The client's answer to a request, or ClientCannot."""
        answer: Answer = Future()
        try:
            request = _REQUESTS.validate_python({"method": method, "params": dict(params)}, by_name=False)
        except ValidationError as error:
            answer.set_exception(ClientCannot(f"The client cannot be asked this: {error.title} is malformed."))
            return answer
        try:
            self._loop.call_soon_threadsafe(self._ask, _Question(request, answer))
        except RuntimeError:  # the loop has ended
            answer.set_exception(ClientCannot("The client of this call is gone."))
        return answer

    @property
    def log_level(self) -> str | None:
        """The lowest level of log messages that the client has asked for."""
        levels = requested_levels(self._sender.last_context)
        return next((level for level in LEVELS if level in levels), None)

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Tell how far the call is."""
        self.progress.report(done, total, message)

    def log(self, level: str, data: Any, logger: str) -> None:
        """Pass on a log message, where the client has asked for its level."""
        if level in LEVELS:
            self._sender.send_soon(make_log_sender(level, data, logger))

    def on_cancel(self, stop: Callable[[], object]) -> None:
        """Call `stop` when the client gives the call up."""
        with suppress(RuntimeError):  # the loop has ended, and nobody gives up anything
            self._loop.call_soon_threadsafe(self._add_stop, stop)

    # On the event loop

    @property
    def sender(self) -> NotificationSender:
        """Sends notifications to the request that waits."""
        return self._sender

    def attach(self, context: RequestContext, answers: Mapping[str, Any]) -> None:
        """Go on with another request of the client, which brings answers."""
        self._sender.context = context
        for key, question in [(key, each) for key, each in self._questions.items() if each.is_sent]:
            del self._questions[key]
            _settle(question.answer, _to_answer(question.request, answers.get(key)))

    def take_questions(self) -> dict[str, types.InputRequest]:
        """The questions that the client has not got yet; until it comes back nothing is sent to it."""
        self._sender.context = None
        self.has_questions.clear()
        taken = {key: question.request for key, question in self._questions.items() if not question.is_sent}
        for key in taken:
            self._questions[key].is_sent = True
        return taken

    def close(self, *, is_cancelled: bool = False) -> None:
        """The call has ended, or its client has given it up: then whatever works for it is told to stop."""
        self._is_closed = True
        self._sender.close()
        for task in self._tasks:
            task.cancel()
        for question in self._questions.values():
            _settle(question.answer, ClientCannot("The call was given up before the client has answered."))
        stops, self._stops = self._stops, []
        for stop in stops if is_cancelled else ():
            stop()

    def _add_stop(self, stop: Callable[[], object]) -> None:
        if self._is_closed:
            stop()
        else:
            self._stops.append(stop)

    def _ask(self, question: _Question) -> None:
        reason = self._find_obstacle(question.request)
        if reason is not None:
            _settle(question.answer, ClientCannot(reason))
            return
        self._open_questions[self.owner] += 1
        question.answer.add_done_callback(self._count_answer)
        self._loop.call_later(_ANSWER_SECONDS, self._expire, question)
        context = self._sender.context
        if context is not None and context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            task = self._loop.create_task(_ask_over_connection(context, question))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._questions[f"question-{next(self._numbers)}"] = question
            self.has_questions.set()

    def _find_obstacle(self, request: types.InputRequest) -> str | None:
        """Why the client cannot be asked; None if it can."""
        context = self._sender.context or self._sender.last_context
        name = _NAMES[request.method]
        if self._is_closed:
            return "The call that this belongs to has ended."
        if not _offers(context.session.client_capabilities, request):
            return f"The client of this call does not offer {name}."
        if request.method == LIST_ROOTS and not self._may_name_folders:
            return "The client of this call may not name folders of this machine: its token lacks the scope admin."
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not is_modern and not context.session.can_send_request:
            return f"The connection to the client of this call has no way back for {name}."
        if self._open_questions[self.owner] >= _MOST_OPEN:
            return f"The client of this call has {_MOST_OPEN} open questions already."
        return None

    def _count_answer(self, answer: Answer) -> None:
        with suppress(RuntimeError):  # the loop has ended, and everything with it
            self._loop.call_soon_threadsafe(self._open_questions.subtract, (self.owner,))

    def _expire(self, question: _Question) -> None:
        if isinstance(question.request, types.ElicitRequest):
            _settle(question.answer, {"action": "cancel"})
        else:
            _settle(question.answer, ClientCannot(f"The client has not answered within {_ANSWER_SECONDS:g} s."))


async def _ask_over_connection(context: RequestContext, question: _Question) -> None:
    request = question.request
    with_tools = isinstance(request, types.CreateMessageRequest) and request.params.tools is not None
    result_type = types.CreateMessageResultWithTools if with_tools else _RESULTS[request.method]
    metadata = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        result = await context.session.send_request(request, result_type, metadata=metadata)
        _settle(question.answer, _to_json(result))
    except (MCPError, NoBackChannelError) as error:
        _settle(question.answer, ClientCannot(f"The client of this call has refused: {error}"))
    except ValidationError:
        _settle(question.answer, ClientCannot("The client of this call has sent an answer that is none."))
    except asyncio.CancelledError:
        _settle(question.answer, ClientCannot("The call was given up before the client has answered."))
        raise


def _offers(capabilities: types.ClientCapabilities | None, request: types.InputRequest) -> bool:
    """Whether the client has said that it can do this."""
    if capabilities is None:
        return False
    if isinstance(request, types.ListRootsRequest):
        return capabilities.roots is not None
    if isinstance(request, types.CreateMessageRequest):
        sampling, params = capabilities.sampling, request.params
        wants_tools = params.tools is not None or params.tool_choice is not None
        return sampling is not None and (sampling.tools is not None or not wants_tools)
    elicitation = capabilities.elicitation
    if isinstance(request.params, types.ElicitRequestURLParams):
        return elicitation is not None and elicitation.url is not None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _to_answer(request: types.InputRequest, response: Any) -> dict[str, Any] | ClientCannot:
    """The answer in a repeated call, if it is one to this request."""
    fitting: tuple[type[Any], ...] = (_RESULTS[request.method],)
    if request.method == SAMPLE:
        fitting = (*fitting, types.CreateMessageResultWithTools)
    if isinstance(response, fitting):
        return _to_json(response)
    return ClientCannot(f"The client of this call came back without an answer to {_NAMES[request.method]}.")


def _to_json(result: types.Result) -> dict[str, Any]:
    answer = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {key: value for key, value in answer.items() if key not in ("_meta", "resultType")}


def _settle(answer: Answer, outcome: dict[str, Any] | Exception) -> None:
    """Set the outcome of an answer; whoever has stopped waiting for it is not disturbed."""
    with suppress(InvalidStateError):
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)
