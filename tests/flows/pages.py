"""Ten pages in the manner of real web apps: lists, forms, tables, cards, documents, and one of 150 buttons."""

HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{}</title></head><body>{}</body></html>'
TOWNS = ("Lisbon", "Porto", "Turin", "Ghent", "Malmo", "Krakow", "Graz", "Lyon", "Bergen", "Cork")
STATES = ("open", "paid", "sent", "returned")


def _each(count, template):
    """A template once for each number, with a town and a state."""
    return "".join(
        template.format(n=n, town=TOWNS[n % 10], state=STATES[n % 4], price=f"{n * 7 % 90 + 5}.50")
        for n in range(count)
    )


def _navigation(*names):
    return f'<nav aria-label="Main"><ul>{"".join(f"<li><a href=/{name}>{name}</a></li>" for name in names)}</ul></nav>'


ADMIN_LIST = f"""
<header><a href="/admin/">Site administration</a><p>Welcome, <strong>ada</strong>. <a href="/site">View site</a> /
<a href="/password">Change password</a> / <button>Log out</button></p></header>
{_navigation("Users", "Groups", "Orders", "Products", "Log entries")}
<main><h1>Select order to change</h1><a class="addlink" href="/add">Add order</a>
<form role="search"><label>Search <input name="q"></label> <button>Search</button></form>
<form><label>Action: <select><option>---------</option><option>Delete selected orders</option></select></label>
<button>Go</button> <span>0 of 40 selected</span>
<table><thead><tr><th><input type="checkbox" aria-label="Select all"></th><th><a href="?o=1">Number</a></th>
<th><a href="?o=2">Customer</a></th><th><a href="?o=3">State</a></th><th><a href="?o=4">Total</a></th></tr></thead>
<tbody>{
    _each(
        40,
        '<tr><td><input type="checkbox" aria-label="Select order {n}"></td><th><a href="/orders/{n}/change/">'
        "Order {n}</a></th><td>Customer of {town}</td><td>{state}</td><td>{price}</td></tr>",
    )
}</tbody></table>
<p>40 orders</p></form>
<aside><h2>Filter</h2><h3>By state</h3><ul>{
    "".join(f"<li><a href=?s={each}>{each}</a></li>" for each in STATES)
}</ul></aside>
</main>"""

FORM_WITH_ERRORS = f"""
{_navigation("Home", "Account", "Help")}
<main><h1>New account</h1><div role="alert"><p>Please correct the 3 errors below.</p></div>
<form aria-label="New account">
<div class="row"><label for="user">User name</label><input id="user" value="ada" aria-invalid="true"
aria-describedby="user-error"><p id="user-error" class="error">A user with that name already exists.</p></div>
<div class="row"><label for="mail">E-mail</label><input id="mail" type="email" required>
<p class="error">This field is required.</p><p class="help">We never show it to others.</p></div>
<div class="row"><label for="word">Password</label><input id="word" type="password">
<ul class="error"><li>This password is too short.</li><li>This password is too common.</li></ul></div>
<div class="row"><label for="land">Country</label>
<select id="land">{_each(10, "<option>{town}</option>")}</select></div>
<fieldset><legend>How may we write to you?</legend><label><input type="radio" name="how"> By e-mail</label>
<label><input type="radio" name="how" checked> By post</label></fieldset>
<label><input type="checkbox"> I accept the <a href="/terms">terms of use</a></label>
<button type="submit">Create account</button> <a href="/login">I have an account already</a></form></main>"""

LOGIN = """
<div id="container"><div id="header"><h1>Example administration</h1></div>
<p class="errornote">Please enter the correct username and password for a staff account.</p>
<form><div><label for="u">Username:</label> <input id="u" name="username" required></div>
<div><label for="p">Password:</label> <input id="p" type="password" required></div>
<input type="submit" value="Log in"></form></div>"""

TABLE = f"""
<nav><p class="crumbs"><a href="/">home</a> / <a href="/db">db</a></p></nav><h1>orders</h1>
<h3>60 rows where state is not "lost" sorted by id</h3>
<form><select aria-label="Column"><option>- remove filter -</option><option>id</option><option>town</option></select>
<select aria-label="Operator"><option>=</option><option>contains</option></select><input aria-label="Value">
<input type="submit" value="Apply"></form>
<p>This data as <a href="?json">json</a>, <a href="?csv">CSV (<em>advanced</em>)</a></p>
<table><thead><tr>{
    "".join(f"<th>{each}</th>" for each in ("id", "town", "state", "price", "note", "agent"))
}</tr></thead>
<tbody>{
    _each(
        60,
        '<tr><td><a href="/orders/{n}">{n}</a></td><td>{town}</td><td>{state}</td><td>{price}</td>'
        '<td>Left at the door</td><td><a href="/agents/{n}">Agent {n}</a></td></tr>',
    )
}</tbody></table>
<pre>CREATE TABLE orders (id INTEGER PRIMARY KEY, town TEXT, state TEXT)</pre>"""

BUTTONS = f"<h1>Board</h1><div>{_each(150, '<button data-testid=field-{n}>Field {n}</button>')}</div>"

TODO = f"""
<section><header><h1>todos</h1><input data-testid="new-todo" placeholder="What needs to be done?"></header>
<main><label><input type="checkbox" data-testid="toggle-all"> Mark all as complete</label>
<ul data-testid="todo-list">{
    _each(
        12,
        '<li data-testid="todo-item"><div><input type="checkbox" data-testid="toggle" '
        'aria-label="Toggle"><label data-testid="title">Write to {town}</label><button data-testid="destroy" '
        'aria-label="Delete"></button></div></li>',
    )
}</ul></main>
<footer><span data-testid="todo-count"><strong>12</strong> items left</span><ul><li><a href="#/">All</a></li>
<li><a href="#/active">Active</a></li><li><a href="#/completed">Completed</a></li></ul>
<button>Clear completed</button></footer></section><footer><p>Double-click to edit a todo</p></footer>"""

DASHBOARD = f"""
<aside><nav aria-label="Main">{_each(9, '<a href="/{n}"><svg width=10 height=10></svg><span>Reports {town}</span></a>')}
</nav></aside><header><button aria-label="Menu"></button><input type="search" aria-label="Search everything">
<button aria-label="Notifications, 3 new"></button></header><main><h1>Good morning, Ada</h1>
<section aria-label="Figures">{
    _each(
        8,
        '<div class="card"><h2>{town}</h2><p data-testid="total-{n}">{price}</p>'
        '<p>up 4 % since last week</p><a href="/towns/{n}">Details</a></div>',
    )
}</section>
<h2>Last orders</h2><ul>{
    _each(10, "<li><a href=/o/{n}>Order {n}</a> from {town}, <span>{state}</span></li>")
}</ul></main>"""

DOCUMENT = f"""
{_navigation("Guide", "Reference", "Blog")}
<main><article><h1>How orders are sent</h1>{
    _each(
        6,
        "<h2>In {town}</h2><p>Every order from <strong>{town}</strong> is "
        "packed on the <em>same day</em> and leaves the house before <code>18:00</code>. "
        "See <a href=/towns/{n}>the page of "
        "{town}</a> for what is different there.</p><ul><li>Parcels of up to 10 kg</li><li>Letters, also "
        "<b>registered</b> ones</li><li>Bicycle couriers in the city</li></ul>"
        "<blockquote>What is late is free of charge.</blockquote>",
    )
}
</article></main><footer><p>Written by Ada in 2026.</p></footer>"""

SETTINGS = f"""
<div role="tablist">{_each(5, '<button role="tab">{town}</button>')}</div>
<div role="tabpanel" aria-label="Lisbon"><h2>Notifications</h2>
{
    _each(
        10,
        '<div><span id=l{n}>Tell me what is {state} in {town}</span><button role="switch" aria-checked="true" '
        "aria-labelledby=l{n}></button></div>",
    )
}<h2>Language</h2><label>Language <select><option>English</option>
<option>German</option></select></label><label>Signature <textarea>Best wishes, Ada</textarea></label>
<button>Save</button> <button disabled>Undo</button></div>
<div class="toast" role="status">Your settings were saved.</div>"""

SHOP = f"""
<header><a href="/">Tea house</a> <a href="/cart">Cart (2)</a></header>
<main><h1>All teas</h1><div>{
    _each(
        24,
        '<article data-testid="card"><img alt="A cup of {town} tea" width=9 height=9>'
        '<h2><a href="/tea/{n}">{town} blend {n}</a></h2><p>{price} EUR</p><p>Mild, from the hills near {town}</p>'
        '<button data-testid="add-{n}">Add to cart</button></article>',
    )
}</div></main>
<div role="dialog" aria-label="Cookies"><p>We use cookies to keep your cart.</p><button>Accept</button>
<button>Only what is needed</button></div>"""

PAGES = {
    "admin list": ADMIN_LIST,
    "form with errors": FORM_WITH_ERRORS,
    "login": LOGIN,
    "table": TABLE,
    "150 buttons": BUTTONS,
    "todo list": TODO,
    "dashboard": DASHBOARD,
    "document": DOCUMENT,
    "settings": SETTINGS,
    "shop": SHOP,
}


def write_pages(folder):
    """Writes the pages into a folder; returns the file of each."""
    files = {name: folder / f"{name.replace(' ', '-')}.html" for name in PAGES}
    for name, file in files.items():
        file.write_text(HEAD.format(name.capitalize(), PAGES[name]))
    return files
