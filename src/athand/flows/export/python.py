"""An exported test in Python: for pytest with a `page` fixture, and for `python FILE` with Playwright alone."""

import re
from collections.abc import Iterator

from athand.flows.export.source import CHROMIUM, EXTENSION, Deed, Place, Script, Value, inert

_PLAIN = "data-testid"
_VALUE = '''
def value(name: str) -> str:
    """What the recording does not hold, from the environment."""
    if not os.environ.get(name):
        raise RuntimeError(f"Set the environment variable {name}: it was secret and is not in this file.")
    return os.environ[name]

'''
_TAB = '''
def tab(page: Page, index: int = -1, url: str = "", title: str = "") -> Page:
    """The tab of that number, address or title, as soon as it is there."""
    for _ in range(100):
        for number, each in enumerate(page.context.pages):
            if number == index or (url and url in each.url) or (title and title in each.title()):
                return each
        page.context.pages[0].wait_for_timeout(100)
    raise AssertionError(f"No tab {url or title or index} was opened.")

'''


def written(script: Script) -> str:
    """The source of the test."""
    body = "\n".join(f"    {line}" for line in _body(script))
    return (
        f"# Recorded: {_comment(script.title)}\n{_extension(script)}"
        f"import os\n{'import re' + chr(10) if 're.compile(' in body else ''}\n"
        "from playwright.sync_api import Page, expect, sync_playwright\n\n"
        f'BASE_URL = os.environ.get("BASE_URL", {script.base!r}).rstrip("/")\n\n'
        f"{_VALUE if script.needs_variables else ''}{_TAB if script.needs_tabs else ''}\n"
        f"def test_{script.name}(page: Page) -> None:\n{body}\n\n\n"
        'if __name__ == "__main__":\n'
        "    with sync_playwright() as playwright:\n"
        f'        browser = playwright.chromium.launch(executable_path=os.environ.get("{CHROMIUM}"))\n'
        f"        test_{script.name}(browser.new_page())\n"
        "        browser.close()\n"
    )


def _extension(script: Script) -> str:
    return f"# {EXTENSION}\n" if script.base.startswith("chrome-extension:") else ""


def _body(script: Script) -> Iterator[str]:
    if script.start is not None:
        yield f"page.goto({_url(script, script.start)})"
    for deed in script.deeds:
        yield f"# {deed.position}: {_comment(deed.words)}"
        yield from _done(script, deed)
        if deed.url is not None:
            yield f"expect(page).to_have_url(re.compile({deed.url!r}))"
        if deed.shown is not None:
            yield f"expect({_located(script, deed.shown)}).to_be_visible()"


def _done(script: Script, deed: Deed) -> Iterator[str]:
    value = _value(deed.value) if deed.value else ""
    place = _located(script, deed.place) if deed.place else ""
    if deed.verb == "click":
        yield f"{place}.click()"
    elif deed.verb == "type":
        yield from _typed(deed, place, value)
    elif deed.verb == "press":
        yield f"{place or 'page.keyboard'}.press({value})"
    elif deed.verb == "select":
        yield f"{place}.select_option({'label=' if deed.argument == 'label' else ''}{value})"
    elif deed.verb == "navigate" and deed.value:
        yield f"page.goto({_url(script, deed.value)})"
    else:
        yield from _tabs(deed)


def _typed(deed: Deed, place: str, value: str) -> Iterator[str]:
    yield f"field = {place}"
    if deed.options["clear"] and deed.options["fill"]:
        yield f"field.fill({value})"
    else:
        yield "field.clear()" if deed.options["clear"] else 'field.press("End")'
        yield f"field.press_sequentially({value})"
    if deed.options["submit"]:
        yield 'field.press("Enter")'


def _tabs(deed: Deed) -> Iterator[str]:
    chosen = ", ".join(f"{name}={deed.options[name]!r}" for name in ("index", "url", "title") if name in deed.options)
    if deed.verb == "switch_tab":
        yield f"page = tab(page, {chosen})"
    else:
        yield f"{f'tab(page, {chosen})' if chosen else 'page'}.close()"
        yield "page = page.context.pages[-1] if page.is_closed() else page"


def _located(script: Script, place: Place) -> str:
    scope = "page" + "".join(f".frame_locator({frame!r})" for frame in place.frames)
    if place.kind == "role":
        found = f"{scope}.get_by_role({place.value!r}, name={place.name!r}, exact=True)"
    elif place.kind == "text":
        found = f"{scope}.get_by_text({place.value!r}, exact=True)"
    elif place.kind == "testId" and script.attribute == _PLAIN:
        found = f"{scope}.get_by_test_id({place.value!r})"
    else:
        selector = _by_attribute(script, place) if place.kind == "testId" else place.value
        found = f"{scope}.locator({selector!r})"
    return f"{found}.filter(visible=True)" if place.only_visible else found


def _by_attribute(script: Script, place: Place) -> str:
    """A test id in an attribute of the app's own: a fixture's page cannot be told of it."""
    name = re.sub(r"[^\w-]", r"\\\g<0>", script.attribute)
    text = re.sub(r'["\\\x00-\x1f\x7f]', lambda found: f"\\{ord(found[0]):x} ", place.value)
    return f'[{name}="{text}"]'


def _url(script: Script, value: Value) -> str:
    rest = None if value.variable else script.below_base(value.text)
    return _value(value) if rest is None else f"BASE_URL + {rest!r}"


def _value(value: Value) -> str:
    return f'value("{value.variable}")' if value.variable else repr(value.text)


def _comment(text: str) -> str:
    return inert(text, lambda each: repr(each)[1:-1])
