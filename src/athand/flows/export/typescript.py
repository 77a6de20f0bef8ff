"""An exported test in TypeScript, for `@playwright/test`."""

import json
from collections.abc import Iterator

from athand.flows.export.source import CHROMIUM, EXTENSION, Deed, Place, Script, Value, inert

_VALUE = """
/** What the recording does not hold, from the environment. */
function value(name: string): string {
  const found = process.env[name];
  if (!found) throw new Error(`Set the environment variable ${name}: it was secret and is not in this file.`);
  return found;
}
"""
_TAB = """
/** The tab of that number, address or title, as soon as it is there. */
async function tab(page: Page, wanted: { index?: number; url?: string; title?: string }): Promise<Page> {
  for (let tries = 0; tries < 100; tries++) {
    for (const [number, each] of page.context().pages().entries()) {
      if (number === wanted.index) return each;
      if (wanted.url && each.url().includes(wanted.url)) return each;
      if (wanted.title && (await each.title()).includes(wanted.title)) return each;
    }
    await page.context().pages()[0]!.waitForTimeout(100);
  }
  throw new Error(`No tab ${JSON.stringify(wanted)} was opened.`);
}
"""


def written(script: Script) -> str:
    """The source of the test."""
    page = "page: first" if script.needs_tabs else "page"
    body = "".join(f"  {line}\n" for line in _body(script))
    extension = f"// {EXTENSION}\n" if script.base.startswith("chrome-extension:") else ""
    return (
        f'{extension}import {{ expect, test{", type Page" if script.needs_tabs else ""} }} from "@playwright/test";\n\n'
        "declare const process: { env: Record<string, string | undefined> };\n"
        f'const BASE_URL = (process.env["BASE_URL"] ?? {quoted(script.base)}).replace(/\\/$/, "");\n\n'
        f"test.use({{ testIdAttribute: {quoted(script.attribute)}, "
        f'launchOptions: {{ executablePath: process.env["{CHROMIUM}"] }} }});\n'
        f"{_VALUE if script.needs_variables else ''}{_TAB if script.needs_tabs else ''}\n"
        f"test({quoted(script.title)}, async ({{ {page} }}) => {{\n{body}}});\n"
    )


def quoted(text: str) -> str:
    """A string that no text can leave; in double quotes nothing is filled in."""
    return inert(json.dumps(text, ensure_ascii=False), _escaped)


def _escaped(each: str) -> str:
    return json.dumps(each)[1:-1]


def _body(script: Script) -> Iterator[str]:
    if script.needs_tabs:
        yield "let page = first;"
    if script.start is not None:
        yield f"await page.goto({_url(script, script.start)});"
    for deed in script.deeds:
        yield f"// {deed.position}: {inert(deed.words, _escaped)}"
        yield from _done(script, deed)
        if deed.url is not None:
            yield f"await expect(page).toHaveURL(new RegExp({quoted(deed.url)}));"
        if deed.shown is not None:
            yield f"await expect({_located(deed.shown)}).toBeVisible();"


def _done(script: Script, deed: Deed) -> Iterator[str]:
    value = _value(deed.value) if deed.value else ""
    place = _located(deed.place) if deed.place else ""
    if deed.verb == "click":
        yield f"await {place}.click();"
    elif deed.verb == "type":
        yield from _typed(deed, place, value)
    elif deed.verb == "press":
        yield f"await {place or 'page.keyboard'}.press({value});"
    elif deed.verb == "select":
        yield f"await {place}.selectOption({f'{{ label: {value} }}' if deed.argument == 'label' else value});"
    elif deed.verb == "navigate" and deed.value:
        yield f"await page.goto({_url(script, deed.value)});"
    else:
        yield from _tabs(deed)


def _typed(deed: Deed, place: str, value: str) -> Iterator[str]:
    if deed.options["clear"] and deed.options["fill"]:
        yield f"await {place}.fill({value});"
    else:
        yield f"await {place}.clear();" if deed.options["clear"] else f'await {place}.press("End");'
        yield f"await {place}.pressSequentially({value});"
    if deed.options["submit"]:
        yield f'await {place}.press("Enter");'


def _tabs(deed: Deed) -> Iterator[str]:
    named = ((name, deed.options[name]) for name in ("index", "url", "title") if name in deed.options)
    chosen = ", ".join(f"{name}: {quoted(each) if isinstance(each, str) else int(each)}" for name, each in named)
    if deed.verb == "switch_tab":
        yield f"page = await tab(page, {{ {chosen} }});"
    else:
        yield f"await {f'(await tab(page, {{ {chosen} }}))' if chosen else 'page'}.close();"
        yield "if (page.isClosed()) page = page.context().pages().at(-1)!;"


def _located(place: Place) -> str:
    scope = "page" + "".join(f".frameLocator({quoted(frame)})" for frame in place.frames)
    if place.kind == "role":
        found = f"{scope}.getByRole({quoted(place.value)}, {{ name: {quoted(place.name)}, exact: true }})"
    elif place.kind == "text":
        found = f"{scope}.getByText({quoted(place.value)}, {{ exact: true }})"
    elif place.kind == "testId":
        found = f"{scope}.getByTestId({quoted(place.value)})"
    else:
        found = f"{scope}.locator({quoted(place.value)})"
    return f"{found}.filter({{ visible: true }})" if place.only_visible else found


def _url(script: Script, value: Value) -> str:
    rest = None if value.variable else script.below_base(value.text)
    return _value(value) if rest is None else f"BASE_URL + {quoted(rest)}"


def _value(value: Value) -> str:
    return f'value("{value.variable}")' if value.variable else quoted(value.text)
