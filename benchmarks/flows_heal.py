"""Healing on pages that changed: how often it finds the element that is meant, and how often it is wrong.

Ten pages of six apps, each element with a rewording that a designer might choose; rules change a page around one
element and say what is right. Half of the pages are for choosing the thresholds, the other half is reported.

    python -m benchmarks.flows_heal
"""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from athand.flows.model import Observation, Step
from athand.flows.replay.healing import Heal, heal
from athand.text import split_identifier


@dataclass(frozen=True)
class Part:
    """An element of a page; `later` is its label after a redesign."""

    test_id: str
    role: str
    name: str
    section: str
    later: str
    is_target: bool = True

    @property
    def tag(self):
        tags = {"link": "a", "heading": "h1", "combobox": "select", "textbox": "input", "checkbox": "input"}
        return tags.get(self.role, "button" if self.role == "button" else "div")


def page(text):
    """A page from lines of `section | role | test id | name | name later`; a heading is no target."""
    parts = [[each.strip() for each in line.split("|")] for line in text.strip().splitlines()]
    return [Part(id_, role, name, section, later, role != "heading") for section, role, id_, name, later in parts]


PAGES = {
    "wallet home": page("""
        header | button   | account-menu-icon         | Account 1           | My account 1
        header | button   | account-options-menu      | Account options     | Options of the account
        main   | heading  | wallet-title              | Wallet              | Your wallet
        main   | button   | eth-overview-send         | Send                | Send crypto
        main   | button   | token-overview-swap       | Swap                | Swap tokens
        main   | button   | eth-overview-bridge       | Bridge              | Bridge assets
        main   | button   | eth-overview-buy          | Buy & Sell          | Buy or sell
        tabs   | tab      | account-overview-tokens   | Tokens              | Coins
        tabs   | tab      | account-overview-nfts     | NFTs                | Collectibles
        tabs   | tab      | account-overview-activity | Activity            | Recent activity
        list   | link     | import-token-button       | Import tokens       | Import a token
    """),
    "wallet send": page("""
        header | button   | cancel-send               | Cancel              | Cancel sending
        form   | heading  | send-title                | Send                | Send crypto
        form   | textbox  | ens-input                 | Recipient           | Recipient address
        form   | textbox  | currency-input            | Amount              | Amount to send
        form   | button   | max-clear-button          | Max                 | Use max
        form   | combobox | asset-picker-button       | Asset               | Asset to send
        form   | checkbox | gas-free-toggle           | Pay fees in tokens  | Pay network fees in tokens
        footer | button   | page-container-footer-next| Continue            | Next
        footer | button   | page-container-back       | Back                | Go back
    """),
    "shop product": page("""
        header | link     | nav-home                  | Home                | Start
        header | searchbox| search-input              | Search products     | Search for products
        header | link     | cart-link                 | Cart                | Shopping cart
        main   | heading  | product-title             | Blue kettle         | Blue kettle
        main   | combobox | size-select               | Size                | Choose a size
        main   | textbox  | quantity-input            | Quantity            | Qty
        main   | button   | add-to-cart               | Add to cart         | Add to basket
        main   | button   | add-to-wishlist           | Add to wishlist     | Save to wishlist
        main   | link     | reviews-link              | Reviews             | Customer reviews
        footer | link     | newsletter-link           | Newsletter          | Subscribe to newsletter
    """),
    "shop checkout": page("""
        main   | heading  | checkout-title            | Checkout            | Checkout
        form   | textbox  | email-field               | Email               | E-mail address
        form   | textbox  | first-name                | First name          | Given name
        form   | textbox  | last-name                 | Last name           | Family name
        form   | textbox  | street-address            | Street              | Street and number
        form   | combobox | country-select            | Country             | Country or region
        form   | checkbox | same-billing              | Same billing address| Billing address is the same
        form   | textbox  | coupon-code               | Coupon              | Coupon code
        form   | button   | apply-coupon              | Apply               | Apply coupon
        footer | button   | place-order               | Place order         | Complete purchase
        footer | link     | back-to-cart              | Back to cart        | Return to basket
    """),
    "login": page("""
        main   | heading  | login-title               | Welcome             | Welcome back
        form   | textbox  | username                  | Username            | User name
        form   | textbox  | password                  | Password            | Your password
        form   | checkbox | remember-me               | Remember me         | Keep me signed in
        form   | button   | login-submit              | Log in              | Sign in
        form   | link     | forgot-password           | Forgot password?    | Forgot your password?
        footer | link     | create-account            | Create account      | Register
        footer | button   | sso-google                | Continue with Google| Sign in with Google
    """),
    "mail": page("""
        side   | button   | compose                   | Compose             | New message
        side   | link     | folder-inbox              | Inbox               | All mail in inbox
        side   | link     | folder-sent               | Sent                | Sent mail
        side   | link     | folder-drafts             | Drafts              | My drafts
        bar    | searchbox| mail-search               | Search mail         | Search in mail
        bar    | button   | archive-message           | Archive             | Archive message
        bar    | button   | delete-message            | Delete              | Move to trash
        bar    | button   | mark-unread               | Mark as unread      | Mark unread
        main   | heading  | message-subject           | Meeting on Monday   | Meeting on Monday
        main   | button   | reply                     | Reply               | Reply to sender
        main   | button   | reply-all                 | Reply all           | Reply to everyone
        main   | button   | forward                   | Forward             | Forward message
    """),
    "issues": page("""
        header | link     | project-issues            | Issues              | All issues
        header | button   | new-issue                 | New issue           | Create issue
        main   | heading  | issue-title               | Crash on start      | Crash on start
        main   | button   | edit-title                | Edit title          | Edit the title
        side   | button   | assign-self               | Assign yourself     | Assign to me
        side   | combobox | label-picker              | Labels              | Choose labels
        side   | combobox | milestone-picker          | Milestone           | Select milestone
        main   | textbox  | comment-box               | Comment             | Add a comment
        main   | button   | submit-comment            | Comment             | Post comment
        main   | button   | close-issue               | Close issue         | Close as completed
        side   | button   | subscribe                 | Subscribe           | Subscribe to issue
    """),
    "bank": page("""
        main   | heading  | transfer-title            | New transfer        | New transfer
        form   | combobox | from-account              | From account        | From
        form   | textbox  | to-iban                   | To IBAN             | Recipient IBAN
        form   | textbox  | amount                    | Amount              | Amount in euro
        form   | textbox  | reference                 | Reference           | Payment reference
        form   | textbox  | execution-date            | Execution date      | Date
        form   | checkbox | save-template             | Save as template    | Save this as a template
        footer | button   | transfer-review           | Review transfer     | Review
        footer | button   | transfer-cancel           | Cancel              | Cancel transfer
        side   | link     | statements                | Statements          | Account statements
    """),
    "profile": page("""
        main   | heading  | profile-title             | Profile             | Your profile
        form   | textbox  | display-name              | Display name        | Name to display
        form   | textbox  | job-title                 | Job title           | Title of your job
        form   | combobox | time-zone                 | Time zone           | Timezone
        form   | combobox | language                  | Language            | Preferred language
        form   | button   | upload-photo              | Upload photo        | Upload picture
        form   | button   | remove-photo              | Remove photo        | Delete picture
        footer | button   | save-profile              | Save                | Save changes
        footer | button   | delete-account            | Delete account      | Delete my account
        side   | link     | notifications             | Notifications       | Notification settings
    """),
    "calendar": page("""
        bar    | button   | today                     | Today               | Go to today
        bar    | button   | previous-week             | Previous week       | Earlier week
        bar    | button   | next-week                 | Next week           | Later week
        bar    | combobox | view-picker               | View                | Calendar view
        main   | heading  | calendar-title            | March               | March
        form   | textbox  | event-title               | Event title         | Title of the event
        form   | textbox  | event-start               | Start               | Start time
        form   | textbox  | event-end                 | End                 | End time
        form   | textbox  | guest-input               | Add guests          | Invite guests
        form   | button   | save-event                | Save event          | Save
        form   | button   | discard-event             | Discard             | Discard event
    """),
}
OTHERS = ("Accept cookies", "Learn more", "Got it", "Take a tour", "Help", "Feedback", "Upgrade", "What is new?")
COUSINS = ("history", "tutorial", "feedback", "archive", "report", "tips")


def seen(parts, *, with_ids=True):
    """What is observed on a page."""
    entries = [{"testId": part.test_id, "tag": part.tag, "text": part.name, "visible": True} for part in parts]
    nodes = [
        {"ref": f"e{at}", "role": part.role, "name": part.name, "path": [f"region {part.section}"], "tag": part.tag}
        | ({"testId": part.test_id} if with_ids and part.test_id else {})
        for at, part in enumerate(parts, 1)
    ]
    return Observation(
        "page", "http://app/", tuple(each for each in entries if each["testId"] and with_ids), tuple(nodes)
    )


def turned(test_id):
    """A test id as another developer would write it."""
    words = split_identifier(test_id)
    return "".join(map(str.capitalize, words[::-1])) + "Control"


def swapped(parts, at, *new):
    return [*parts[:at], *new, *parts[at + 1 :]]


def stranger(part, at, section=None):
    return Part(
        f"promo-{at}",
        part.role if part.role in ("button", "link") else "button",
        OTHERS[at % len(OTHERS)],
        section or part.section,
        "",
    )


def changes(parts, at):
    """What may happen to one element of a page: the name of the change, the page after it, and what is right."""
    part = parts[at]
    renamed, opaque = replace(part, test_id=turned(part.test_id)), replace(part, test_id=f"c{at}9f3e")
    reworded = replace(part, name=part.later)
    both = replace(part, name=part.later, test_id=turned(part.test_id))
    away = swapped(parts, at)
    yield "test id renamed", swapped(parts, at, renamed), renamed
    yield "test id without meaning", swapped(parts, at, opaque), opaque
    yield "reworded, test id renamed", swapped(parts, at, both), both
    yield (
        "reworded, test id without meaning",
        swapped(parts, at, replace(opaque, name=part.later)),
        replace(opaque, name=part.later),
    )
    moved = replace(renamed, section="elsewhere")
    yield "moved and renamed", [*away, moved], moved
    if part.role == "button":
        other = replace(renamed, role="link")
        yield "another tag", swapped(parts, at, other), other
    everything = [replace(each, test_id=turned(each.test_id)) for each in swapped(parts, at, reworded)]
    yield "all test ids renamed, reworded", everything, everything[at]
    yield "renamed beside something new", [*swapped(parts, at, both), stranger(part, at)], both
    yield "removed", away, None
    yield "removed, another in its place", swapped(parts, at, stranger(part, at)), None
    yield "removed, two strangers", [*away, stranger(part, at), stranger(part, at + 1, "dialog")], None
    yield "removed, all test ids renamed", [replace(each, test_id=turned(each.test_id)) for each in away], None
    word = part.name.split()[0]
    cousin = replace(stranger(part, at, "elsewhere"), name=f"{word} {COUSINS[at % len(COUSINS)]}", role=part.role)
    yield "removed, a new one shares a word", [*away, cousin], None
    like = replace(cousin, test_id=f"{split_identifier(part.test_id)[0]}-{COUSINS[at % len(COUSINS)]}")
    yield "removed, a new one shares two words", [*away, like], None
    near = at + 1 if at + 1 < len(parts) else at - 1
    changed = replace(parts[near], name=parts[near].later, test_id=turned(parts[near].test_id))
    yield "removed, its neighbour reworded", swapped(swapped(parts, near, changed), at), None
    twin = replace(renamed, section="dialog", test_id=turned(part.test_id) + "2")
    yield "there twice", [*swapped(parts, at, renamed), twin], None
    counted = [replace(each, name=f"{each.name} (3)") for each in away]
    yield "removed, the others count now", counted, None


def cases(names):
    """Every change of every element of these pages: with test ids, and by role and name alone."""
    for name in names:
        parts = PAGES[name]
        for at, part in enumerate(parts):
            if not part.is_target:
                continue
            target = {"testId": part.test_id, "role": part.role, "name": part.name}
            for change, after, right in changes(parts, at):
                yield change, _step(part, target), seen(parts), seen(after), right
                decoy = replace(part, test_id=f"{part.test_id}-secondary", section="other")
                if right is None:
                    yield (
                        "like one was there before",
                        _step(part, target),
                        seen([*parts, decoy]),
                        seen([*after, decoy]),
                        None,
                    )
            by_name = {"role": part.role, "name": part.name}
            later = replace(part, name=part.later)
            if part.later != part.name:
                after = seen(swapped(parts, at, later), with_ids=False)
                yield "reworded, no test ids", _step(part, by_name), seen(parts, with_ids=False), after, later
            yield (
                "removed, no test ids",
                _step(part, by_name),
                seen(parts, with_ids=False),
                seen(swapped(parts, at), with_ids=False),
                None,
            )


def _step(part, target):
    verb = {"textbox": "type", "searchbox": "type", "combobox": "select"}.get(part.role, "click")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Step("s", "x", "app", 1, now, f"ui_{verb}", verb, {}, target, True, None, (), "page", None)


def judged(step, before, now, right):
    """`right`, `wrong`, `missed` or `abstained`: what a decision is worth."""
    done = heal(step, before, now)
    if not isinstance(done, Heal):
        return "abstained" if right is None else "missed"
    told = done.target.get("testId") or (done.target.get("role"), done.target.get("name"))
    return "right" if right is not None and told in (right.test_id, (right.role, right.name)) else "wrong"


def figures(names):
    """Precision, recall and abstention on some pages, and each change's outcomes."""
    outcomes, by_change = Counter(), {}
    for change, step, before, now, right in cases(names):
        outcome = judged(step, before, now, right)
        outcomes[outcome] += 1
        by_change.setdefault(change, Counter())[outcome] += 1
        outcomes["heals wanted" if right else "abstentions wanted"] += 1
    healed = outcomes["right"] + outcomes["wrong"]
    return {
        "cases": outcomes["heals wanted"] + outcomes["abstentions wanted"],
        "precision": outcomes["right"] / max(1, healed),
        "recall": outcomes["right"] / outcomes["heals wanted"],
        "abstention": outcomes["abstained"] / outcomes["abstentions wanted"],
        "by_change": {change: dict(counts) for change, counts in sorted(by_change.items())},
    }


def measure():
    """The figures of both halves; what is reported is the half that chose nothing."""
    names = list(PAGES)
    return {"tuned": figures(names[0::2]), "report": figures(names[1::2])}


def main():
    results = measure()
    for half, result in results.items():
        shown = "  ".join(f"{name} {result[name]:.3f}" for name in ("precision", "recall", "abstention"))
        print(f"{half:7} {result['cases']:5} cases  {shown}")
        for change, counts in result["by_change"].items():
            print(f"    {change:36} {counts}")
    return results


if __name__ == "__main__":
    main()
