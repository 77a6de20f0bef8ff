"""Writes a test in Python: for pytest with a `page` fixture, and for `python FILE` with Playwright alone."""

import re
from collections.abc import Iterator

from athand.flows.export.script import (
    CHROMIUM_VARIABLE,
    EXTENSION_NOTE,
    Script,
    ScriptAction,
    ScriptLocator,
    ScriptValue,
    escape_pattern,
    escape_unprintable,
)

_DEFAULT_ATTRIBUTE = "data-testid"
_VALUE_FUNCTION = '''
def value(name: str) -> str:
    """A value that is not in the recording, from the environment."""
    if not os.environ.get(name):
        raise RuntimeError(f"Set the environment variable {name}: it was secret and is not in this file.")
    return os.environ[name]

'''
_ORIGIN_FUNCTION = '''
def pages_of(origin: str) -> re.Pattern[str]:
    """The addresses of an origin."""
    return re.compile("^" + re.escape(origin) + "/")

'''
_TAB_FUNCTION = '''
def tab(page: Page, index: int = -1, url: str = "", title: str = "") -> Page:
    """The tab with this number, address or title; waits until it is open."""
    for _ in range(100):
        for number, each in enumerate(page.context.pages):
            if number == index or (url and url in each.url) or (title and title in each.title()):
                return each
        page.context.pages[0].wait_for_timeout(100)
    raise AssertionError(f"No tab {url or title or index} was opened.")

'''


def write_test(script: Script) -> str:
    """The source of a test."""
    body = "\n".join(f"    {line}" for line in _body_lines(script))
    return (
        f"# Recorded: {_escape_comment(script.title)}\n{_extension_comment(script)}"
        f"import os\n{'import re' + chr(10) if 're.compile(' in body or script.limits_origins else ''}\n"
        "from playwright.sync_api import Page, expect, sync_playwright\n\n"
        f'BASE_URL = os.environ.get("BASE_URL", {script.base!r}).rstrip("/")\n\n'
        f"{_VALUE_FUNCTION if script.needs_variables else ''}{_ORIGIN_FUNCTION if script.limits_origins else ''}"
        f"{_TAB_FUNCTION if script.needs_tabs else ''}\n"
        f"def test_{script.name}(page: Page) -> None:\n{body}\n\n\n"
        'if __name__ == "__main__":\n'
        "    with sync_playwright() as playwright:\n"
        f'        browser = playwright.chromium.launch(executable_path=os.environ.get("{CHROMIUM_VARIABLE}"))\n'
        f"        test_{script.name}(browser.new_page())\n"
        "        browser.close()\n"
    )


def _extension_comment(script: Script) -> str:
    return f"# {EXTENSION_NOTE}\n" if script.base.startswith("chrome-extension:") else ""


def _body_lines(script: Script) -> Iterator[str]:
    if script.start is not None:
        yield f"page.goto({_url_source(script, script.start)})"
    for action in script.actions:
        yield f"# {action.position}: {_escape_comment(action.comment)}"
        if action.origin:
            origin = "BASE_URL" if script.is_base(action.origin) else repr(action.origin)
            yield f"expect(page).to_have_url(pages_of({origin}))  # nobody else gets the secret"
        yield from _action_lines(script, action)
        if action.expected_url is not None:
            yield f"expect(page).to_have_url(re.compile({action.expected_url!r}))"
        if action.expected_element is not None:
            yield f"expect({_locator_source(script, action.expected_element)}).to_be_visible()"
        if action.expected_text is not None:
            yield f"expect(page.get_by_text({action.expected_text!r}).filter(visible=True).first).to_be_visible()"


def _action_lines(script: Script, action: ScriptAction) -> Iterator[str]:
    value = _value_source(action.value) if action.value else ""
    locator = _locator_source(script, action.locator) if action.locator else ""
    if action.verb == "click":
        yield f"{locator}.click()"
    elif action.verb == "hover":
        yield f"{locator}.hover()"
    elif action.verb in ("back", "forward"):
        yield f"page.go_{action.verb}()"
    elif action.verb == "type":
        yield from _type_lines(action, locator, value)
    elif action.verb == "press":
        yield f"{locator or 'page.keyboard'}.press({value})"
    elif action.verb == "select":
        yield f"{locator}.select_option({'label=' if action.argument == 'label' else ''}{value})"
    elif action.verb == "navigate" and action.value:
        yield f"page.goto({_url_source(script, action.value)})"
    else:
        yield from _tab_lines(action)


def _type_lines(action: ScriptAction, locator: str, value: str) -> Iterator[str]:
    yield f"field = {locator}"
    if action.options["clear"] and action.options["fill"]:
        yield f"field.fill({value})"
    else:
        yield "field.clear()" if action.options["clear"] else 'field.press("End")'
        yield f"field.press_sequentially({value})"
    if action.options["submit"]:
        yield 'field.press("Enter")'


def _tab_lines(action: ScriptAction) -> Iterator[str]:
    chosen = ", ".join(
        f"{name}={action.options[name]!r}" for name in ("index", "url", "title") if name in action.options
    )
    if action.verb == "switch_tab":
        yield f"page = tab(page, {chosen})"
    else:
        yield f"{f'tab(page, {chosen})' if chosen else 'page'}.close()"
        yield "page = page.context.pages[-1] if page.is_closed() else page"


def _locator_source(script: Script, locator: ScriptLocator) -> str:
    scope = "page" + "".join(f".frame_locator({frame!r})" for frame in locator.frames)
    if locator.kind == "role":
        pattern = f"re.compile({f'^{escape_pattern(locator.name)}$'!r}, re.IGNORECASE)"
        name = pattern if locator.ignores_case else repr(locator.name)
        found = f"{scope}.get_by_role({locator.value!r}, name={name}, exact=True)"
    elif locator.kind == "text":
        found = f"{scope}.get_by_text({locator.value!r}, exact=True)"
    elif locator.kind == "testId" and script.test_id_attribute == _DEFAULT_ATTRIBUTE:
        found = f"{scope}.get_by_test_id({locator.value!r})"
    else:
        selector = _attribute_selector(script, locator) if locator.kind == "testId" else locator.value
        found = f"{scope}.locator({selector!r})"
    return f"{found}.filter(visible=True)" if locator.only_visible else found


def _attribute_selector(script: Script, locator: ScriptLocator) -> str:
    """A selector for a test id in another attribute, which the page of a fixture cannot be configured for."""
    name = re.sub(r"[^\w-]", r"\\\g<0>", script.test_id_attribute)
    text = re.sub(r'["\\\x00-\x1f\x7f]', lambda match: f"\\{ord(match[0]):x} ", locator.value)
    return f'[{name}="{text}"]'


def _url_source(script: Script, value: ScriptValue) -> str:
    rest = None if value.variable else script.relative_url(value.text)
    return _value_source(value) if rest is None else f"BASE_URL + {rest!r}"


def _value_source(value: ScriptValue) -> str:
    return f'value("{value.variable}")' if value.variable else repr(value.text)


def _escape_comment(text: str) -> str:
    return escape_unprintable(text, lambda each: repr(each)[1:-1])
