"""The page as agents read it: a small tree of roles, names, texts and refs."""

import json

import pytest
from tests.flows.pages import PAGES, write_pages

from athand.errors import ActionFailed
from athand.flows.model import Avoid, Hint, PriorKnowledge, SuggestedAction


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture
def page(browser, files):
    """Goes to one of the ten pages; returns its description."""

    def go(name, **part):
        browser.navigate(files[name].as_uri())
        return browser.describe_screen(**part).page

    return go


def lines_of(text):
    return [line.strip(" -") for line in text.splitlines()]


def test_a_description_is_at_most_1_2_times_as_long_as_playwright_s_own_snapshot(page, browser):
    def own_snapshot():
        process = browser._process
        return process.run(lambda context: context.page.locator("body").aria_snapshot(), 60)

    lengths = {name: (len(page(name)), len(own_snapshot())) for name in PAGES}
    assert {name: each for name, each in lengths.items() if each[0] > 1.2 * each[1]} == {}


def test_messages_errors_and_paragraphs_are_seen(page):
    lines = lines_of(page("form with errors"))
    assert "alert: Please correct the 3 errors below." in lines
    assert "text: A user with that name already exists." in lines
    assert "listitem: This password is too short." in lines
    assert 'textbox "User name" [invalid] [e7]: ada' in lines
    assert "text: Please enter the correct username and password for a staff account." in lines_of(page("login"))
    assert "status: Your settings were saved." in lines_of(page("settings"))
    assert 'text: This data as | link "json" [e9] | , | link "CSV (advanced)" [e10]' in lines_of(page("table"))


def test_a_row_of_a_table_is_one_line_with_its_cells(page):
    lines = lines_of(page("table"))
    assert "row: id | town | state | price | note | agent" in lines
    assert 'row: link "3" [e42] | Ghent | returned | 26.50 | Left at the door | link "Agent 3" [e48]' in lines


def test_neighbours_of_one_role_share_a_line_and_of_many_alike_the_first_are_shown(page):
    [heading, buttons] = lines_of(page("150 buttons"))
    assert heading == 'heading "Board"'
    assert buttons.startswith('button x150: "Field 0" [e2] | "Field 1" [e3] | ')
    assert buttons.endswith('"Field 149" [e151]')
    table = page("table")
    assert table.count("- row:") == 51
    assert "… and 10 more (row)" in table


def test_a_test_id_is_shown_where_it_says_more_than_the_name(page):
    shop = page("shop")
    assert 'button "Add to cart" [e7] [testid=add-0]' in shop, "there are 24 such buttons"
    assert "testid=card" not in shop
    assert "text: 5.50 [testid=total-0]" in page("dashboard"), "a number alone"
    assert "testid" not in page("todo list"), "each of them is there twelve times"


def test_a_label_is_not_shown_twice(page):
    lines = lines_of(page("login"))
    assert 'textbox x2: "Username:" [required] [e2] | "Password:" [required] [e3]' in lines
    assert not any(line.startswith("text: Username") for line in lines)


def test_a_part_of_the_page_is_described_by_ref_test_id_or_text(page, browser):
    assert page("admin list", text="customer of turin").count("row:") == 4
    one = lines_of(page("shop", text="Turin blend 2"))
    assert 'heading: link "Turin blend 2" [e14]' in one
    assert 'button "Add to cart" [e15] [testid=add-2]' in one, "the article is shown whole"
    assert not any("Lisbon" in line for line in one)
    todo = page("todo list", root="todo-list")
    assert todo.startswith("- list:") and "Clear completed" not in todo
    browser.describe_screen()
    assert browser.describe_screen(root="e3").page == '- checkbox "Mark all as complete" [e3]'
    assert browser.click(ref="e3").ok, "refs outlive a look at a part"
    with pytest.raises(ActionFailed) as failed:
        browser.describe_screen(root="nowhere")
    assert failed.value.code == "TARGET_NOT_FOUND"


def test_a_long_page_is_cut_with_a_count_and_dialogs_come_first(page):
    text = page("shop", length=500)
    assert len(text) <= 500
    first, *_, last = text.splitlines()
    assert first == '- dialog "Cookies":'
    assert last == "… and 139 more lines; name a part with root= or text="


def test_the_field_of_a_date_is_seen_and_not_its_label(at):
    assert '"Born on" [e11]' in at("/login.html").describe_screen().page


def test_what_is_in_frames_and_shadow_roots_is_in_the_tree(at):
    frames = at("/frames.html").describe_screen().page
    assert 'button "Press one"' in frames and 'textbox "Field two"' in frames
    assert '"Closed button"' in at("/shadow.html").describe_screen().page


def test_knowledge_adds_at_most_600_characters_the_best_action_first(flows):
    suggested = tuple(
        SuggestedAction(n, "click", "Done once.", 0.9 - n / 10, Hint("testId", "button-" + "x" * 60))
        for n in range(1, 6)
    )
    avoid = tuple(Avoid("Failed twice.", {"testId": "y" * 60}, "TARGET_NOT_FOUND", 2, "click") for _ in range(5))
    now = flows.now()
    brief = PriorKnowledge(1, now, {}, suggested_next_actions=suggested, avoid=avoid).brief()
    assert len(json.dumps(brief)) <= 600
    assert brief["suggestedNextActions"][0]["confidence"] == 0.8
    assert brief["avoid"]
