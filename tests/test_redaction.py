import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand import redaction
from athand.redaction import clean, redact, strip_private

# Put together here, so that no complete token stands in this file: scanners would stop a push.
MIXED = "A1b2C3d4" * 16
HEX = "0a1b2c3d4e5f6789" * 16
UPPER = "A1B2C3D4" * 16


def pem(kind, body=MIXED[:64]):
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


SECRETS: dict[str, str] = {
    "1Password token": "ops_" + "eyJ" + MIXED[:60],
    "age key": "AGE-SECRET-" + "KEY-1" + UPPER[:58],
    "Airtable token": "pat" + MIXED[:14] + "." + HEX[:64],
    "Anthropic key": "sk-" + "ant-api03-" + MIXED[:80],
    "API key": "gsk" + "_" + MIXED[:52],
    "Atlassian token": "ATATT" + "3xFf" + MIXED[:100],
    "AWS access key": "AKIA" + UPPER[:16],
    "Azure client secret": MIXED[:3] + "8Q~" + MIXED[:34],
    "Cloudflare token": "cfut" + "_" + MIXED[:48],
    "Databricks token": "dapi" + HEX[:32],
    "DigitalOcean token": "dop_" + "v1_" + HEX[:64],
    "Discord bot token": "MT" + MIXED[:24] + "." + MIXED[:6] + "." + MIXED[:38],
    "Discord webhook": "discord.com/api/" + "webhooks/123456789012345678/" + MIXED[:68],
    "Docker token": "dckr_" + "pat_" + MIXED[:27],
    "Doppler token": "dp." + "pt." + MIXED[:43],
    "Figma token": "figd" + "_" + MIXED[:40],
    "Fly.io token": "fm2" + "_" + MIXED[:80],
    "GitHub token": "ghp" + "_" + MIXED[:36],
    "GitLab token": "glpat" + "-" + MIXED[:20],
    "Google API key": "AIza" + MIXED[:35],
    "Google OAuth secret": "GOCSPX" + "-" + MIXED[:28],
    "Google OAuth token": "ya29" + "." + MIXED[:60],
    "Grafana token": "glsa" + "_" + MIXED[:32] + "_" + HEX[:8],
    "Heroku key": "HRKU" + "-" + MIXED[:60],
    "Hugging Face token": "hf" + "_" + MIXED[:34],
    "JWT": "eyJ" + MIXED[:20] + "." + "eyJ" + MIXED[:40] + "." + MIXED[:43],
    "Linear key": "lin_" + "api_" + MIXED[:40],
    "Mailgun key": "key" + "-" + HEX[:32],
    "New Relic key": "NRAK" + "-" + UPPER[:27],
    "Notion token": "ntn" + "_" + MIXED[:46],
    "npm token": "npm" + "_" + MIXED[:36],
    "OpenAI key": "sk" + "-proj-" + MIXED[:48],
    "Postman key": "PMAK" + "-" + HEX[:24] + "-" + HEX[:34],
    "private key": pem("RSA " + "PRIVATE KEY"),
    "PyPI token": "pypi" + "-AgEIcHlwaS5vcmc" + MIXED[:80],
    "SendGrid key": "SG" + "." + MIXED[:22] + "." + MIXED[:43],
    "Sentry token": "sntrys" + "_" + MIXED[:80],
    "Shopify token": "shpat" + "_" + HEX[:32],
    "Slack token": "xoxb" + "-123456789012-" + MIXED[:24],
    "Slack webhook": "hooks.slack.com/" + "services/T00000001/B00000001/" + MIXED[:24],
    "Square token": "sq0atp" + "-" + MIXED[:22],
    "Stripe key": "sk_" + "live_" + MIXED[:24],
    "Stripe webhook secret": "whsec" + "_" + MIXED[:32],
    "Supabase key": "sbp" + "_" + HEX[:40],
    "Telegram bot token": "123456789" + ":AA" + MIXED[:33],
    "Twilio key": "SK" + HEX[:32],
    "Vault token": "hvs" + "." + MIXED[:90],
    "wallet key": "xprv" + "9s21ZrQH" * 14,
}

MORE_TOKENS = [
    ("API key", "xai" + "-" + MIXED[:80]),
    ("API key", "lsv2_" + "pt_" + HEX[:32] + "_" + HEX[:10]),
    ("AWS access key", "ASIA" + UPPER[:16]),
    ("Cloudflare token", "v1" + ".0-" + HEX[:24] + "-" + HEX[:146]),
    ("Doppler token", "dp." + "st.prod." + MIXED[:43]),
    ("GitHub token", "github_" + "pat_" + MIXED[:22] + "_" + MIXED[:59]),
    *[("GitHub token", f"gh{letter}" + "_" + MIXED[:36]) for letter in "ousr"],
    ("GitLab token", "glrt" + "-" + MIXED[:20]),
    ("Google OAuth token", "1" + "//0" + MIXED[:60]),
    ("JWT", "eyJ" + MIXED[:20] + ".." + MIXED[:16] + "." + MIXED[:43] + "." + MIXED[:22]),
    ("Mailgun key", HEX[:32] + "-" + HEX[:8] + "-" + HEX[8:16]),
    ("Notion token", "secret" + "_" + MIXED[:43]),
    ("OpenAI key", "sk" + "-" + MIXED[:48]),
    ("OpenAI key", "sk" + "-or-v1-" + HEX[:64]),
    ("Slack token", "xapp" + "-1-A0123-" + MIXED[:40]),
    ("Slack token", "xoxp" + "-123456789012-" + MIXED[:24]),
    ("Stripe key", "rk_" + "live_" + MIXED[:24]),
    ("Stripe key", "sk_" + "test_" + MIXED[:24]),
    ("Supabase key", "sb_" + "secret_" + MIXED[:31]),
    ("private key", pem("OPENSSH " + "PRIVATE KEY")),
    ("private key", pem("PRIVATE " + "KEY")),
    ("private key", pem("EC " + "PRIVATE KEY").replace("\n", "\\n")),
    (
        "private key",
        pem("RSA " + "PRIVATE KEY", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{UPPER[:32]}\n\n{MIXED}"),
    ),
    ("private key", pem("PGP " + "PRIVATE KEY BLOCK", f"Comment: not a sample ***...\n\n{MIXED}\n=abcd")),
    ("private key", "Private-" + "Lines: 2\n" + MIXED[:64] + "\n" + MIXED[:64]),
    ("private key", "LS0tLS1CRUdJTiB" + "SU0EgUFJJ" + MIXED),
]

# Kind, text with the secret's place, secret.
PLACED = [
    ("AWS secret key", "aws_secret_access_key = {}", MIXED[:40]),
    ("AWS secret key", '"SecretAccessKey": "{}",', MIXED[:38] + "/+"),
    ("Azure storage key", "AccountName=x;AccountKey={};EndpointSuffix=y", MIXED[:86] + "=="),
    ("Azure SAS signature", "https://x.blob.core.windows.net/c?sv=2022&sig={}&se=2024", MIXED[:43] + "%3D"),
    ("URL signature", "https://s3/x?X-Amz-Signature={}&x=1", HEX[:64]),
    ("authorization", "Authorization: Bearer {}", "abcDEF123456"),
    ("authorization", "curl -H 'authorization: Basic {}' https://x", "dXNlcjpwYXNz"),
    ("authorization", "sent as Bearer {} yesterday", MIXED[:40]),
    ("password", "postgres://bob:{}@db.example.com:5432/app", "hunter2"),
    ("password", "redis://:{}@localhost:6379/0", "p@ss:w0rd"),
    ("password", "curl -s -u bob:{} https://x", "hunter2"),
    ("password", "mysql -u root -p{} app", "hunter2"),
    ("password", "machine x login bob password {}", "hunter2"),
    (
        "seed phrase",
        "my seed phrase: {}.",
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
    ),
    ("password", "password={}", "hunter2"),
    ("password", "password={}", "swordfish"),
    ("password", "password={}", "123456"),
    ("password", "password: {}", "correct-horse-battery"),
    ("password", "Password: {}", "hunter2"),
    ("password", "Password: {}", "my-new-p4ss"),
    ("password", "**Password:** {}", "hunter2"),
    ("password", "`password`: `{}`", "hunter2"),
    ("password", "my password is {} now", "hunter2"),
    ("password", "The password for the staging server is {}.", "hunter2"),
    ("password", "user: bob, password: {}", "swordfish"),
    ("password", "database:\n  host: x\n  password: {}\n  port: 1", "swordfish"),
    ("password", "DB_PASSWORD={}", "swordfish"),
    ("password", "DB_PASSWORD: {}", "swordfish"),
    ("password", "export MYSQL_PWD='{}'", "two words"),
    ("password", "SMTP_PASS={} # comment", "swordfish"),
    ("password", '{{"user": "bob", "password": "{}"}}', "hunter2"),
    ("password", '{{"password": "{}"}}', 'hun\\"ter2'),
    ("password", '"{{\\"password\\": \\"{}\\"}}"', "hunter2"),
    ("password", "config['password'] = '{}'", "hunter2"),
    ("password", "password: str = '{}'", "hunter2"),
    ("password", "password = b'{}'", "hunter2"),
    ("password", "'password' => '{}'", "hunter2"),
    ("password", "login --password {} --verbose", "hunter2"),
    ("password", "login --password={} --verbose", "swordfish"),
    ("password", "Server=x;Password={};Database=y", "swordfish"),
    ("password", "<password>{}</password>", "hunter2"),
    ("password", "<db.password>{}</db.password>", "swordfish"),
    ("password", "connect(user=user, password='{}')", "swordfish"),
    ("password", "connect(user=user, password={})", "hunter2"),
    ("password", "DB_PASSWORD={}\\nDB_HOST=x", "hunter2"),
    ("password", "passphrase: '{}'", "correct horse battery staple"),
    ("password", 'password: "{}', "hunter2"),
    ("password", "password={}", MIXED + "!"),
    ("secret", "api_key={}", HEX[:24]),
    ("secret", "API key: {}", HEX[:24]),
    ("secret", "x-api-key: {}", HEX[:24]),
    ("secret", "--api-key {} --verbose", "abcd1234efgh"),
    ("secret", "https://x/?token={}&page=2", "abc123def456"),
    ("secret", "JWT_SECRET={}", "swordfishes"),
    ("secret", 'client_secret: "{}"', "swordfishes"),
    ("secret", "TWILIO_AUTH_TOKEN={}", HEX[:32]),
    ("secret", "HEROKU_API_KEY={}", "550e8400-e29b-41d4-a716-446655440000"),
    ("secret", "private_key = {}", "0x" + HEX[:64]),
    ("secret", "_auth={}", "dXNlcjpwYXNzd29yZA=="),
    ("secret", "my token is {}", "4f8a9c3e2b7d"),
]

ORDINARY = r"""
the password is stored hashed
the password is required
The token is sent in a header
password is base64 encoded
token: see docs
password: required
Password: LastPass or Bitwarden
password: case-sensitive and long
password: 8+ characters
password: at least 8 characters with 1 digit
password: n/a
passwords: never share them
passphrase (optional): leave empty
the api key for the service is in the vault
The secret: patience
secret=None
password="",
password=xxxx
password=****
password=changeme
api_key=os.environ['API_KEY']
password=${DB_PASSWORD}
password=$DB_PASSWORD
password: {{ vault_password }}
secret: ${{ secrets.GITHUB_TOKEN }}
secret_access_key: !Ref Secret
password: process.env.DB_PASSWORD
token = get_token()
token := os.Getenv("TOKEN")
token = request.headers.get("Authorization")
token = tokens[0]
password = input()
password = user.password
self.password = password
connect(user=user, password=password)
connect(user=user, password=pw, host=host)
if password == confirm:
def login(user: str, password: str = None) -> Token:
password: Optional[str] = None
password: z.string().min(8)
password = Column(String(255))
const { password } = req.body
--token TOKEN
use --password to set it, or --token instead
Set password=<password> and token=<token>
token: <your-token>
API_KEY=YOUR_API_KEY
api_key: your_api_key_here
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
Bearer authentication-is-required-for-this
postgres://user:password@localhost/db
postgres://${USER}:${PASS}@localhost/db
https://example.com:8080/path?x=1
ssh://git@host:22/repo
git@github.com:foo/bar.git
bob@example.com
"password": "string"
"password": {"type": "string"}
"password": "Enter your password"
"token": "Invalid token"
pad_token="<pad>" eos_token='</s>' unk_token: "[UNK]"
auth: oauth2
token: v1.2.3
version 1.2.3-beta.4+build5
token: 0x6B175474E89094C44Da98b954EedeAC495271d0F
PWD=/home/user/project
private_key=/path/to/key.pem
keyword: search
monkey=banana
token_count=512
max_tokens: 4096
password_hash column
tokenizer=bert
secretary: Bob12345
CLIENT_AUTH: "clientAuth",
socks5h://<username>:<password>@proxy-host
def sign(private_key: ed25519.Ed25519PrivateKey) -> bytes:
def fetch(username: str | None, password: HiddenText | None) -> None:
secret_key = s3_server['connection']
user_password = index_info
token = r"[-!#$%&'*+.^_|~0-9a-zA-Z]+"
author: John, authority=high
reset_password: sends an email
<input type="password" name="password">hello1234
sk-learn and task-based
disk-0123456789abcdef0123456789abcdef
cache-key-d41d8cd98f00b204e9800998ecf8427e
weights_for_the_first_layer_of_the_encoder
weights_d41d8cd98f00b204e9800998ecf8427e
docker run -u 1000:1000 image
commit 3f786850e387550fdab836ed7e6dc881de23001b
550e8400-e29b-41d4-a716-446655440000
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 bob@host
eyJ alone
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
sk-ant-...
""".strip().split("\n")

HOSTILE = [
    "password=", "password: ", 'token="', "token=(", "secret=/a", "<password>", "curl -u a", "a", "eyJ-",
    "-----BEGIN ", "-----BEGIN A " + "PRIVATE KEY-----\n", "https://a:", "<private ", "</private>", "sk-" + MIXED + " ",
]  # fmt: skip

# What a rule looks for, repeated without being a secret, or as one that ends where the next one begins.
BEGINNINGS = [
    "1Q~", "eyJaaaaaaaa.", "a.aaaaaa.", "0a1b2c3d-", "1:AA", "curl -u a:", "curl ", "mysql -p ", "login a password ",
    "phrase is ", "Abc: -----BEGIN " + "PRIVATE KEY-----\n", "Private-" + "Lines: 1 ", "authorization:", "bearer a",
    "pwd=abc ", "pwd ", "<a", "--", " --a", "://a:@a", "'a1", "sig=", "AccountKey=", "AWS access key]:",
    "[redacted: ", "secret_access_key=", "password for a.b of c ", "user", "token='passpass1'",
]  # fmt: skip

FRAGMENTS = [
    *["password", "DB_PASSWORD", "token", "api_key", "client_secret", "auth", "pwd", "db_pass", "user: ", "bob"],
    *["=", ":", " = ", ": ", " is ", "=>", "<password>", "</password>", "--password ", " ", "\n", "\\n", "\t", "-"],
    *['"', "'", "`", '\\"', "**", ",", ";", "&", "(", ")", "[", "]", "{", "}", "${", "/", "@host", "…", "xxxx", "***"],
    *[
        "hunter2",
        "swordfish",
        "1234",
        "correct-horse-battery",
        "get_token(",
        "None",
        "[redacted: password]",
        "[redacted: ",
    ],
    *["Bearer ", "Authorization: ", "https://u:", "curl -u ", "mysql -p", "login bob password ", "&sig=", "phrase: "],
    *[
        "-----BEGIN RSA " + "PRIVATE KEY-----\n" + MIXED,
        "-----END RSA " + "PRIVATE KEY-----",
        "%3D",
        "İ",
        "“",
        MIXED,
        HEX,
    ],
    *SECRETS.values(),
]


@pytest.mark.parametrize(("kind", "secret"), [*SECRETS.items(), *MORE_TOKENS])
def test_a_token_is_replaced_by_its_kind_and_the_text_around_it_stays(kind, secret):
    assert redact(secret) == f"[redacted: {kind}]"
    assert redact(f"It is ({secret}), keep it.\n") == f"It is ([redacted: {kind}]), keep it.\n"


@pytest.mark.parametrize(("kind", "place", "secret"), PLACED)
def test_a_place_that_says_secret_loses_the_secret_only(kind, place, secret):
    assert redact(place.format(secret)) == place.format(f"[redacted: {kind}]")


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text):
    assert redact(text) == text
    assert redact(f"- {text}\n\nAnd so on.") == f"- {text}\n\nAnd so on."


@pytest.mark.parametrize("kind", ["CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK", "CERTIFICATE REQUEST"])
def test_public_blocks_stay_as_they_are(kind):
    assert redact(pem(kind)) == pem(kind)


def test_speaking_of_private_key_blocks_is_no_secret():
    text = (
        "It stands between -----BEGIN " + "PRIVATE KEY----- and -----END " + "PRIVATE KEY-----, on lines of their own."
    )
    assert redact(text) == text


def test_a_cut_key_block_ends_where_it_stops_looking_like_a_key():
    cut = "-----BEGIN " + f"RSA PRIVATE KEY-----\n{MIXED[:64]}\n{MIXED[:64]}"
    assert redact(f"{cut}\n{MIXED[:9]}") == "[redacted: private key]"
    assert redact(f"{cut}\nand then we talked.") == "[redacted: private key]\nand then we talked."


def test_several_secrets_of_one_text_are_all_replaced():
    text = redact("\n".join(f"{kind} = {secret}" for kind, secret in SECRETS.items()))
    assert [line.rpartition("[")[2] for line in text.split("\n")] == [f"redacted: {kind}]" for kind in SECRETS]


def test_an_access_key_takes_the_secret_beside_it_along():
    pair = f"{SECRETS['AWS access key']},{MIXED[:40]}"
    assert redact(pair) == "[redacted: AWS access key],[redacted: AWS secret key]"


@pytest.mark.parametrize("before", ["\\n", "\\t", "key%3D", "x=", "/", '"', "token-"])
def test_what_stands_before_a_token_does_not_hide_it(before):
    assert redact(before + SECRETS["GitHub token"]) == before + "[redacted: GitHub token]"


def test_a_key_names_the_kind_of_its_token():
    assert redact(f"GITHUB_TOKEN={SECRETS['GitHub token']}") == "GITHUB_TOKEN=[redacted: GitHub token]"
    assert redact(f"Authorization: Bearer {SECRETS['JWT']}") == "Authorization: Bearer [redacted: JWT]"


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join) | st.text())
def test_redacting_twice_changes_nothing_more(text):
    assert redact(redact(text)) == redact(text)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20).map("".join) | st.text())
def test_all_that_is_kept_stood_in_the_text_in_this_order(text):
    end = 0
    for piece in re.split(r"\[redacted: [\w .-]+\]", redact(text)):
        assert piece in text[end:]
        end = text.index(piece, end) + len(piece)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a c"),
        ("a<private>b</private>c", "ac"),
        ("a <PRIVATE>b</Private> c", "a c"),
        ("a\n<private>\nb\nc\n</private>\nd", "a\n\nd"),
        ("a <private>b <private>c</private> d</private> e", "a e"),
        ("a <private>b</private> <private>c</private> d", "a d"),
        ('a <private reason="x">b</private> c', "a c"),
        ("a < private >b</ private > c", "a c"),
        ("a <private>b", "a "),
        ("a <private>b <private>c</private> d", "a "),
        ("a <private b", "a "),
        ("<private>a</private>", ""),
        ("a  b <private>c</private>  d", "a  b d"),
        ("<privateKey>a</privateKey> private", "<privateKey>a</privateKey> private"),
        ("", ""),
    ],
)
def test_private_blocks_are_left_out(text, kept):
    assert strip_private(text) == kept


@given(st.lists(st.sampled_from(["<private>", "</private>", "a", " ", "\n"])).map("".join))
def test_nothing_inside_a_private_block_is_kept(text):
    assert "b" not in strip_private(f"{text}<private>b{text.replace('</private>', '')}")


def test_cleaning_leaves_out_private_blocks_and_secrets():
    assert clean("a <private>password=hunter2</private> b password=hunter2") == "a b password=[redacted: password]"
    assert clean(f"<private>x</private>{SECRETS['npm token']}") == "[redacted: npm token]"


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_characters_take_time_in_proportion_to_their_number(piece, size):
    text = (piece * (size // len(piece) + 1))[:size]
    # Several times what it takes; what goes through the text for each of its characters takes more. The first time,
    # expressions are compiled.
    assert min(cpu_seconds(text) for _ in range(2)) < size / 200_000


@pytest.mark.parametrize("piece", ["secret=/a", "secret:a.", "secret=\\", "secret=abcdefgh1 ", "<secret>"])
def test_an_assignment_that_a_text_repeats_is_judged_once(piece, monkeypatch):
    judge, judged = redaction._find_value, []
    monkeypatch.setattr(redaction, "_find_value", lambda *given: judged.append(given) or judge(*given))
    redact(piece * 10_000)
    assert len(judged) < 200  # those near the beginning and the end have other surroundings


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=30).map("".join), st.integers(2, 12))
def test_what_was_judged_before_is_judged_alike(text, times):
    remembered = redact(text * times)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_MAX_JUDGED", 0)
        assert redact(text * times) == remembered


def test_a_quote_that_is_closed_far_away_is_no_open_one():
    begin, middle = f'{"." * 80} password="one', " two" * 100
    assert redact(begin + middle + "\n" + begin + middle + '"') == redact(begin + middle + "\n") + redact(
        begin + middle + '"'
    )


def cpu_seconds(text):
    started = time.process_time()
    clean(text)
    return time.process_time() - started


def ratio_of_doubling(piece, size=8_000):
    text = piece * (size // len(piece))
    double = text + text
    return min(cpu_seconds(double) for _ in range(2)) / min(cpu_seconds(text) for _ in range(2))


def test_twice_as_much_of_any_text_that_begins_like_a_secret_takes_twice_as_long():
    pieces = [*HOSTILE, *BEGINNINGS, *SECRETS.values(), *(hint for _, hint, _ in redaction._TOKEN_RULES)]
    # What another process disturbed is measured again.
    slow = [piece for piece in pieces if all(ratio_of_doubling(piece) > 2.6 for _ in range(3))]
    assert slow == []
