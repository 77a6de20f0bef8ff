"""Sessions in apps that do not exist: their screens, what people do there, how they say it, and what goes wrong.

A step is `screen verb element [value]`. `?` before it: not everybody does it. `v2` or `v1` before it: only in that
version of the app. Steps joined by ` & ` are done in any order. `{person}` and the like are values of the goal.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from athand.flows.model import Observation

PEOPLE = ("Ann Lee", "Bob Stone", "Carla Diaz", "Deniz Kaya", "Emil Novak", "Farah Aziz", "Gus Hall", "Hana Mori")
THINGS = ("red shoes", "desk lamp", "tea pot", "rain coat", "phone case", "wool scarf", "bike bell", "oak shelf")
VALUES: Mapping[str, Sequence[str]] = {
    "person": PEOPLE,
    "other": tuple(reversed(PEOPLE)),
    "thing": THINGS,
    "amount": ("0.5", "12", "30", "2.75", "140", "8"),
    "email": tuple(f"{name.split()[0].lower()}@example.org" for name in PEOPLE),
    "title": ("Broken login", "Slow search", "Dark mode", "Export fails", "Wrong total", "Missing icon"),
    "day": ("3 May", "14 June", "21 July", "9 August"),
}
_OPTIONAL, _EARLY, _AGAIN, _FAILS, _DETOUR, _WITHOUT_GOAL, _BY_NAME = 0.5, 0.06, 0.06, 0.06, 0.1, 0.08, 0.15


@dataclass(frozen=True)
class Flow:
    """One thing that people do: how they say it, and the steps."""

    goals: Sequence[str]
    steps: str


@dataclass(frozen=True)
class App:
    """Screens with `test-id:role:name` elements, flows, and ways that lead nowhere and back."""

    name: str
    screens: Mapping[str, str]
    flows: Sequence[Flow]
    detours: Sequence[str] = ()


@dataclass(frozen=True)
class Done:
    """One action of a simulated session."""

    verb: str
    target: Mapping[str, str]
    given: Mapping[str, Any]
    before: Observation
    ok: bool = True


@dataclass
class Simulated:
    """A simulated session."""

    goal: str | None
    version: str
    steps: list[Done] = field(default_factory=list)


def sessions(app: App, number: int, seed: int) -> list[Simulated]:
    """So many sessions; the later half in the second version of the app."""
    made = random.Random(f"{app.name} {seed}")
    return [_session(app, "v1" if at < number / 2 else "v2", made) for at in range(number)]


def _session(app: App, version: str, made: random.Random) -> Simulated:
    flow = made.choices(app.flows, [1 / (at + 2) for at in range(len(app.flows))])[0]
    values = {name: made.choice(some) for name, some in VALUES.items()}
    goal = made.choice(flow.goals).format(**values)
    found = Simulated(None if made.random() < _WITHOUT_GOAL else goal, version)
    for step in _walked(app, flow, version, made):
        found.steps += _done(app, step.format(**values), values, made)
        if made.random() < _EARLY:
            break
    return found


def _walked(app: App, flow: Flow, version: str, made: random.Random) -> Iterator[str]:
    for line in filter(None, map(str.strip, flow.steps.split("\n"))):
        together = line.split(" & ")
        made.shuffle(together)
        for step in together:
            only = step.split()[0] if step.split()[0] in ("v1", "v2") else None
            if only not in (None, version) or (step.startswith("?") and made.random() > _OPTIONAL):
                continue
            plain = step.removeprefix("?").removeprefix(only or "").strip()
            detours = [each for each in app.detours if each.split()[0] in (plain.split()[0], "any")]
            if detours and made.random() < _DETOUR:
                yield from map(str.strip, made.choice(detours).replace("any ", f"{plain.split()[0]} ").split(";"))
            yield plain


def _done(app: App, step: str, values: Mapping[str, str], made: random.Random) -> list[Done]:
    screen, verb, element, *rest = step.split(" ", 3)
    given = {"type": "text", "select": "value", "press": "key"}.get(verb)
    seen = _observed(app, screen, values)
    node = _node(seen, element if element != "*" else rest[0])
    target = {"role": node["role"], "name": node["name"]}
    if "testId" in node and made.random() > _BY_NAME:
        target["testId"] = node["testId"]
    done = Done(verb, target, {given: rest[0]} if given and rest else {}, seen)
    failed = [Done(verb, target, done.given, seen, ok=False)] if made.random() < _FAILS else []
    return [*failed, done, *([done] if verb == "type" and made.random() < _AGAIN else [])]


def _observed(app: App, screen: str, values: Mapping[str, str]) -> Observation:
    """What is on a screen: its elements, and rows with names of people and things where it has any."""
    nodes: list[dict[str, str]] = []
    for each in app.screens[screen].split():
        test_id, role, name = each.split(":")
        names = {"PEOPLE": PEOPLE, "THINGS": THINGS}.get(name, (name.replace("_", " "),))
        nodes += [{"role": role, "name": one, **({"testId": test_id} if len(names) == 1 else {})} for one in names]
    refs = [{"ref": f"e{at}", **node} for at, node in enumerate(nodes, 1)]
    test_ids = tuple({"testId": node["testId"]} for node in nodes if "testId" in node)
    return Observation(screen, f"https://{app.name}.example/{screen}", test_ids, tuple(refs))


def _node(seen: Observation, element: str) -> Mapping[str, str]:
    return next(node for node in seen.a11y if element in (node.get("testId"), node["name"]))


WALLET = App(
    "wallet",
    {
        "unlock": "password:textbox:Password unlock:button:Unlock forgot:link:Forgot_password",
        "home": (
            "send:button:Send swap:button:Swap bridge:button:Bridge receive:button:Receive menu:button:Menu "
            "activity:tab:Activity tokens:tab:Tokens account:button:Account"
        ),
        "send": (
            "recipient:textbox:Recipient amount:textbox:Amount contacts:button:Contacts "
            "next:button:Continue cancel:button:Cancel gas:button:Network_fee"
        ),
        "contacts": "x:option:PEOPLE add:button:Add_contact back:button:Back",
        "swap": (
            "from:combobox:From to:combobox:To amount:textbox:Amount review:button:Review "
            "slippage:button:Slippage cancel:button:Cancel"
        ),
        "confirm": "confirm:button:Confirm reject:button:Reject details:button:Details fee:button:Edit_fee",
        "menu": "settings:link:Settings lock:button:Lock networks:link:Networks support:link:Support",
        "settings": (
            "currency:combobox:Currency language:combobox:Language security:link:Security "
            "contacts:link:Contacts back:button:Back"
        ),
        "networks": (
            "testnets:switch:Show_test_networks add:button:Add_network back:button:Back "
            "name:textbox:Network_name url:textbox:RPC_URL save:button:Save"
        ),
    },
    [
        Flow(
            (
                'Send {amount} ETH to "{person}"',
                'Transfer {amount} ETH to the contact "{person}"',
                'Pay "{person}" {amount} ETH',
            ),
            (
                "home click send\nsend click contacts\ncontacts click * {person}\nsend type amount {amount}\n"
                "?send click gas\nsend click next\nv2 confirm click details\nconfirm click confirm\n"
                "?home click activity"
            ),
        ),
        Flow(
            ("Swap {amount} ETH for DAI", "Exchange {amount} ETH to DAI", "Trade ETH into DAI, {amount}"),
            (
                "home click swap\nswap select from ETH & swap select to DAI\nswap type amount {amount}\n"
                "?swap click slippage\nswap click review\nconfirm click confirm"
            ),
        ),
        Flow(
            ("Unlock the wallet", "Log in with the password", "Open the locked wallet"),
            "unlock type password hunter2\nunlock click unlock\n?home click tokens",
        ),
        Flow(
            ("Reject a pending transaction", "Decline the transaction that waits"),
            "home click activity\nconfirm click details\nconfirm click reject",
        ),
        Flow(
            ("Change the currency to EUR", "Show amounts in euros"),
            "home click menu\nmenu click settings\nsettings select currency EUR\nsettings click back",
        ),
        Flow(
            ("Add a custom network", "Connect to a new RPC network"),
            (
                "home click menu\nmenu click networks\nnetworks click add\n"
                "networks type name Test & networks type url http://rpc.example\nnetworks click save"
            ),
        ),
        Flow(("Lock the wallet", "Sign out of the wallet"), "home click menu\nmenu click lock"),
    ],
    ("home click tokens", "send click gas", "home click account", "confirm click fee"),
)
SHOP = App(
    "shop",
    {
        "home": (
            "search:searchbox:Search go:button:Search_products cart:link:Cart login:link:Sign_in "
            "deals:link:Deals orders:link:My_orders"
        ),
        "results": "x:link:THINGS sort:combobox:Sort_by filter:button:Filters cart:link:Cart search:searchbox:Search",
        "product": (
            "size:combobox:Size quantity:spinbutton:Quantity add:button:Add_to_cart "
            "wish:button:Add_to_wishlist reviews:tab:Reviews cart:link:Cart"
        ),
        "cart": (
            "checkout:button:Checkout remove:button:Remove coupon:textbox:Coupon apply:button:Apply "
            "continue:link:Continue_shopping"
        ),
        "checkout": (
            "name:textbox:Full_name email:textbox:E-mail street:textbox:Street pay:button:Pay_now "
            "back:link:Back_to_cart express:radio:Express standard:radio:Standard"
        ),
        "login": "email:textbox:E-mail password:textbox:Password submit:button:Sign_in reset:link:Reset_password",
        "orders": (
            "return:button:Return_item track:button:Track invoice:link:Invoice reason:combobox:Reason "
            "submit:button:Submit_return"
        ),
    },
    [
        Flow(
            (
                'Buy "{thing}" for {email}',
                'Order "{thing}" and send the receipt to {email}',
                'Purchase "{thing}", e-mail {email}',
            ),
            (
                "home type search {thing}\nhome click go\nresults click * {thing}\n?product select size M\n"
                "product click add\nv2 product click cart\ncart click checkout\n"
                "checkout type name Me & checkout type email {email} & checkout type street Road 1\n"
                "?checkout click express\ncheckout click pay"
            ),
        ),
        Flow(
            ("Search for {thing}", "Find {thing} in the shop", "Look for {thing}"),
            (
                "home type search {thing}\nhome click go\n?results select sort Price\nresults click * {thing}\n"
                "?product click reviews"
            ),
        ),
        Flow(
            ("Sign in as {email}", "Log in with {email}"),
            "home click login\nlogin type email {email}\nlogin type password secret\nlogin click submit",
        ),
        Flow(
            ("Return an item of my last order", "Send back something I ordered"),
            "home click orders\norders click return\norders select reason Damaged\norders click submit",
        ),
        Flow(
            ('Put "{thing}" on the wishlist', 'Save "{thing}" for later'),
            "home type search {thing}\nhome click go\nresults click * {thing}\nproduct click wish",
        ),
        Flow(
            ('Use the coupon "SPRING" in the cart', 'Apply coupon "SPRING"'),
            "home click cart\ncart type coupon SPRING\ncart click apply\n?cart click checkout",
        ),
        Flow(("Track my order", "Where is my parcel"), "home click orders\norders click track"),
    ],
    ("home click deals", "results click filter", "product click reviews"),
)
TRACKER = App(
    "tracker",
    {
        "board": (
            "new:button:New_issue filter:textbox:Filter mine:link:My_issues x:link:PEOPLE "
            "reports:link:Reports sprint:button:Start_sprint"
        ),
        "issue": (
            "title:textbox:Title body:textbox:Description assignee:combobox:Assignee "
            "priority:combobox:Priority create:button:Create cancel:button:Cancel label:combobox:Label"
        ),
        "detail": (
            "comment:textbox:Comment send:button:Add_comment close:button:Close_issue edit:button:Edit "
            "assignee:combobox:Assignee watch:button:Watch"
        ),
        "mine": "first:link:First_issue done:checkbox:Show_done export:button:Export back:link:Back",
        "sprint": "goal:textbox:Sprint_goal start:button:Start days:spinbutton:Days",
    },
    [
        Flow(
            (
                'File an issue "{title}" and assign it to "{person}"',
                'Create the bug "{title}" for "{person}"',
                'Open issue "{title}", assignee "{person}"',
            ),
            (
                "board click new\nissue type title {title}\n"
                "?issue type body Steps & issue select assignee {person}\n?issue select priority High\n"
                "v2 issue select label Bug\nissue click create"
            ),
        ),
        Flow(
            ("Comment on my first issue", "Leave a comment on the issue assigned to me"),
            "board click mine\nmine click first\ndetail type comment Done\ndetail click send",
        ),
        Flow(
            ("Close my first issue", "Mark the first issue of mine as closed"),
            "board click mine\nmine click first\n?detail type comment Fixed\ndetail click close",
        ),
        Flow(
            ('Hand my first issue over to "{person}"', 'Reassign my first issue to "{person}"'),
            "board click mine\nmine click first\ndetail click edit\ndetail select assignee {person}",
        ),
        Flow(
            ('Start a sprint with the goal "{title}"', 'Begin the sprint "{title}"'),
            "board click sprint\nsprint type goal {title} & sprint type days 14\nsprint click start",
        ),
        Flow(
            ("Export my issues", "Download the list of my issues"),
            "board click mine\n?mine click done\nmine click export",
        ),
    ],
    ("board click reports", "detail click watch", "issue click cancel"),
)
MAIL = App(
    "mail",
    {
        "inbox": (
            "compose:button:Compose search:searchbox:Search x:link:PEOPLE settings:button:Settings "
            "drafts:link:Drafts refresh:button:Refresh"
        ),
        "compose": (
            "to:combobox:To cc:textbox:Cc subject:textbox:Subject body:textbox:Message attach:button:Attach "
            "send:button:Send discard:button:Discard"
        ),
        "message": (
            "reply:button:Reply forward:button:Forward delete:button:Delete archive:button:Archive star:button:Star"
        ),
        "settings": "signature:textbox:Signature vacation:switch:Vacation_reply save:button:Save until:textbox:Until",
    },
    [
        Flow(
            (
                'Write a mail to {email} with the subject "{title}"',
                'Send {email} a message about "{title}"',
                'E-mail "{title}" to {email}',
            ),
            (
                "inbox click compose\ncompose type to {email} & compose type subject {title}\n"
                "?compose type body Hello\n?compose click attach\ncompose click send\nv2 inbox click refresh"
            ),
        ),
        Flow(
            ("Delete the mail from {person}", "Throw away the message from {person}"),
            "inbox click * {person}\nmessage click delete",
        ),
        Flow(
            ("Reply to {person}", "Answer the mail from {person}"),
            "inbox click * {person}\nmessage click reply\ncompose type body Thanks\ncompose click send",
        ),
        Flow(
            ("Forward the mail from {person} to {email}", "Pass on {person} 's message to {email}"),
            "inbox click * {person}\nmessage click forward\ncompose type to {email}\ncompose click send",
        ),
        Flow(
            ("Archive the mail from {person}", "Put {person} 's mail away"),
            "?inbox type search mail\ninbox click * {person}\nmessage click archive",
        ),
        Flow(
            ("Turn on the vacation reply until {day}", "Set an out-of-office note till {day}"),
            "inbox click settings\nsettings click vacation\nsettings type until {day}\nsettings click save",
        ),
    ],
    ("inbox click drafts", "message click star", "inbox click refresh"),
)
BANK = App(
    "bank",
    {
        "login": "user:textbox:User_number pin:textbox:PIN enter:button:Log_in help:link:Help",
        "overview": (
            "transfer:button:New_transfer orders:link:Standing_orders cards:link:Cards "
            "statements:link:Statements logout:button:Log_out"
        ),
        "transfer": (
            "payee:textbox:Payee iban:textbox:IBAN amount:textbox:Amount purpose:textbox:Purpose "
            "instant:checkbox:Instant next:button:Next templates:button:Templates"
        ),
        "tan": "code:textbox:TAN confirm:button:Confirm abort:button:Abort",
        "orders": (
            "add:button:Add_order stop:button:Stop_order payee:textbox:Payee amount:textbox:Amount "
            "interval:combobox:Interval save:button:Save"
        ),
        "cards": "block:button:Block_card limit:textbox:Limit save:button:Save_limit pin:button:New_PIN",
        "statements": "month:combobox:Month download:button:Download",
    },
    [
        Flow(
            (
                'Transfer {amount} euros to "{person}"',
                'Send "{person}" {amount} euros',
                'Pay {amount} euros to "{person}"',
            ),
            (
                "overview click transfer\n"
                "transfer type payee {person} & transfer type iban DE00 & transfer type amount {amount}\n"
                "?transfer type purpose Rent\n?transfer click instant\ntransfer click next\n"
                "tan type code 123456\ntan click confirm"
            ),
        ),
        Flow(
            ("Log in to the bank", "Sign in to online banking"),
            "login type user 77\nlogin type pin 1234\nlogin click enter",
        ),
        Flow(
            ("Block my card", "My card was stolen, stop it"),
            "overview click cards\ncards click block\nv2 tan type code 123456\ntan click confirm",
        ),
        Flow(
            ('Pay "{person}" {amount} every month', 'Standing order of {amount} for "{person}"'),
            (
                "overview click orders\norders click add\n"
                "orders type payee {person} & orders type amount {amount} & orders select interval Monthly\n"
                "orders click save\ntan type code 123456\ntan click confirm"
            ),
        ),
        Flow(
            ("Set the card limit to {amount}", "Raise my card limit to {amount}"),
            (
                "overview click cards\ncards type limit {amount}\ncards click save\ntan type code 123456\n"
                "tan click confirm"
            ),
        ),
        Flow(
            ("Download the statement of May", "Get last month's statement"),
            "overview click statements\nstatements select month May\nstatements click download",
        ),
    ],
    ("overview click statements", "transfer click templates", "login click help"),
)
STAFF = App(
    "staff",
    {
        "start": "leave:link:Leave team:link:Team expenses:link:Expenses payslips:link:Payslips news:link:News",
        "leave": (
            "request:button:Request_leave from:textbox:From until:textbox:Until kind:combobox:Kind "
            "submit:button:Submit balance:tab:Balance"
        ),
        "team": "search:searchbox:Search x:link:PEOPLE chart:button:Org_chart",
        "person": (
            "message:button:Message goals:tab:Goals feedback:button:Give_feedback text:textbox:Feedback "
            "send:button:Send"
        ),
        "expenses": (
            "new:button:New_claim amount:textbox:Amount kind:combobox:Category "
            "receipt:button:Upload_receipt submit:button:Submit_claim list:tab:My_claims"
        ),
        "payslips": "month:combobox:Month open:button:Open",
    },
    [
        Flow(
            ("Ask for leave from {day}", "Request a holiday starting {day}", "Take time off on {day}"),
            (
                "start click leave\n?leave click balance\nleave click request\n"
                "leave select kind Holiday & leave type from {day} & leave type until 30 September\n"
                "leave click submit"
            ),
        ),
        Flow(
            ("Claim {amount} for a taxi", "Get {amount} of travel costs back", "Expense claim of {amount}"),
            (
                "start click expenses\nexpenses click new\n"
                "expenses type amount {amount} & expenses select kind Travel\nv2 expenses click receipt\n"
                "expenses click submit\n?expenses click list"
            ),
        ),
        Flow(
            ("Give feedback to {person}", "Tell {person} how they are doing"),
            (
                "start click team\n?team type search {person}\nteam click * {person}\nperson click feedback\n"
                "person type text Great\nperson click send"
            ),
        ),
        Flow(
            ("Send {person} a message", "Write to {person}"),
            "start click team\nteam click * {person}\nperson click message\nperson type text Hi\nperson click send",
        ),
        Flow(
            ("Open my payslip of May", "Show what I earned in May"),
            "start click payslips\npayslips select month May\npayslips click open",
        ),
    ],
    ("start click news", "team click chart", "person click goals"),
)
FOR_TUNING = (WALLET, SHOP, TRACKER)
FOR_REPORT = (MAIL, BANK, STAFF)
