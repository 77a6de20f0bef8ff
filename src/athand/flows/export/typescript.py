"""Writes a test in TypeScript, for `@playwright/test`."""

import json
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

_VALUE_FUNCTION = """
/** A value that is not in the recording, from the environment. */
function value(name: string): string {
  const found = process.env[name];
  if (!found) throw new Error(`Set the environment variable ${name}: it was secret and is not in this file.`);
  return found;
}
"""
_ORIGIN_FUNCTION = """
/** The addresses of an origin. */
function pagesOf(origin: string): RegExp {
  return new RegExp(`^${origin.replace(/[^\\w:/-]/g, "\\\\$&")}/`);
}
"""
_TAB_FUNCTION = """
/** The tab with this number, address or title; waits until it is open. */
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


def write_test(script: Script) -> str:
    """The source of a test."""
    page = "page: first" if script.needs_tabs else "page"
    body = "".join(f"  {line}\n" for line in _body_lines(script))
    extension = f"// {EXTENSION_NOTE}\n" if script.base.startswith("chrome-extension:") else ""
    return (
        f'{extension}import {{ expect, test{", type Page" if script.needs_tabs else ""} }} from "@playwright/test";\n\n'
        "declare const process: { env: Record<string, string | undefined> };\n"
        f'const BASE_URL = (process.env["BASE_URL"] ?? {quote(script.base)}).replace(/\\/$/, "");\n\n'
        f"test.use({{ testIdAttribute: {quote(script.test_id_attribute)} }});\n"
        f'const chromium = process.env["{CHROMIUM_VARIABLE}"];\n'
        "if (chromium) test.use({ launchOptions: { executablePath: chromium } });\n"
        f"{_VALUE_FUNCTION if script.needs_variables else ''}{_ORIGIN_FUNCTION if script.limits_origins else ''}"
        f"{_TAB_FUNCTION if script.needs_tabs else ''}\n"
        f"test({quote(script.title)}, async ({{ {page} }}) => {{\n{body}}});\n"
    )


def quote(text: str) -> str:
    """A string literal that no text can break out of; double quotes have no interpolation."""
    return escape_unprintable(json.dumps(text, ensure_ascii=False), _escape_character)


def _escape_character(character: str) -> str:
    return json.dumps(character)[1:-1]


def _body_lines(script: Script) -> Iterator[str]:
    if script.needs_tabs:
        yield "let page = first;"
    if script.start is not None:
        yield f"await page.goto({_url_source(script, script.start)});"
    for action in script.actions:
        yield f"// {action.position}: {escape_unprintable(action.comment, _escape_character)}"
        if action.origin:
            origin = "BASE_URL" if script.is_base(action.origin) else quote(action.origin)
            yield f"await expect(page).toHaveURL(pagesOf({origin})); // nobody else gets the secret"
        yield from _action_lines(script, action)
        if action.expected_url is not None:
            yield f"await expect(page).toHaveURL(new RegExp({quote(action.expected_url)}));"
        if action.expected_element is not None:
            yield f"await expect({_locator_source(action.expected_element)}).toBeVisible();"
        if action.expected_text is not None:
            text = f"page.getByText({quote(action.expected_text)}).filter({{ visible: true }}).first()"
            yield f"await expect({text}).toBeVisible();"


def _action_lines(script: Script, action: ScriptAction) -> Iterator[str]:
    value = _value_source(action.value) if action.value else ""
    locator = _locator_source(action.locator) if action.locator else ""
    if action.verb == "click":
        yield f"await {locator}.click();"
    elif action.verb == "hover":
        yield f"await {locator}.hover();"
    elif action.verb in ("back", "forward"):
        yield f"await page.go{action.verb.capitalize()}();"
    elif action.verb == "type":
        yield from _type_lines(action, locator, value)
    elif action.verb == "press":
        yield f"await {locator or 'page.keyboard'}.press({value});"
    elif action.verb == "select":
        yield f"await {locator}.selectOption({f'{{ label: {value} }}' if action.argument == 'label' else value});"
    elif action.verb == "navigate" and action.value:
        yield f"await page.goto({_url_source(script, action.value)});"
    else:
        yield from _tab_lines(action)


def _type_lines(action: ScriptAction, locator: str, value: str) -> Iterator[str]:
    if action.options["clear"] and action.options["fill"]:
        yield f"await {locator}.fill({value});"
    else:
        yield f"await {locator}.clear();" if action.options["clear"] else f'await {locator}.press("End");'
        yield f"await {locator}.pressSequentially({value});"
    if action.options["submit"]:
        yield f'await {locator}.press("Enter");'


def _tab_lines(action: ScriptAction) -> Iterator[str]:
    named = ((name, action.options[name]) for name in ("index", "url", "title") if name in action.options)
    chosen = ", ".join(f"{name}: {quote(each) if isinstance(each, str) else int(each)}" for name, each in named)
    if action.verb == "switch_tab":
        yield f"page = await tab(page, {{ {chosen} }});"
    else:
        yield f"await {f'(await tab(page, {{ {chosen} }}))' if chosen else 'page'}.close();"
        yield "if (page.isClosed()) page = page.context().pages().at(-1)!;"


def _locator_source(locator: ScriptLocator) -> str:
    scope = "page" + "".join(f".frameLocator({quote(frame)})" for frame in locator.frames)
    if locator.kind == "role":
        name = f'new RegExp({quote(f"^{escape_pattern(locator.name)}$")}, "i")' if locator.ignores_case else ""
        found = f"{scope}.getByRole({quote(locator.value)}, {{ name: {name or quote(locator.name)}, exact: true }})"
    elif locator.kind == "text":
        found = f"{scope}.getByText({quote(locator.value)}, {{ exact: true }})"
    elif locator.kind == "testId":
        found = f"{scope}.getByTestId({quote(locator.value)})"
    else:
        found = f"{scope}.locator({quote(locator.value)})"
    return f"{found}.filter({{ visible: true }})" if locator.only_visible else found


def _url_source(script: Script, value: ScriptValue) -> str:
    rest = None if value.variable else script.relative_url(value.text)
    return _value_source(value) if rest is None else f"BASE_URL + {quote(rest)}"


def _value_source(value: ScriptValue) -> str:
    return f'value("{value.variable}")' if value.variable else quote(value.text)
