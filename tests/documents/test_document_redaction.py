"""What is left out of documents: private keys and values that look like credentials, and no other source code."""

import pytest
from tests.engines import one_engine

from athand import Athand, Settings
from athand.documents.redaction import MODES

# Put together here, so that no complete token stands in this file: scanners would stop a push.
RANDOM = "k7" + "Qz9xW2mB4tV8nR5jL1pD"
HEX = "9b1f" * 2 + "6c0e27ad" * 3
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
BODY = ("MIIEpAIBAAKCAQEA" * 4 + "\n") * 3
BLOCK = "-----BEGIN RSA " + f"PRIVATE KEY-----\n{BODY}-----END RSA " + "PRIVATE KEY-----"

KEPT = r"""
allocuserpwd = Curl_memdup0(user, len);
allocuserpwd = aprintf("%s:%s", user, passwd);
opt_token: CURLOPT_XOAUTH2_BEARER
opt_token: tool_opts,
password a machine can guess is no password
"machine %s login %s password %s\n"
f.write("machine example.com login aaaa password bbbb\n")
struct Curl_easy *data, const char *passwdp, size_t plen)
char *passwd = conn->passwd;
const password = req.body.password as string;
const { token } = await createToken(user, { expiresIn: '15m' });
let api_key: Option<ApiKeyV2> = None;
pub fn verify(password: &HashedPassword256) -> bool {
auth: AuthScheme::Oauth2ClientCredentials,
token: Token::Ident(x509v3_key_usage),
self.token = next_token(lexer2, STATE_3A)
private_key: Ed25519PrivateKey | Ed448PrivateKey
MLKEM1024P384PrivateKey = rust_openssl.hpke.MLKEM1024P384PrivateKey
username, password = split
auth = httpx.DigestAuth(username="user", password="password123")
def login(self, username='test', password='test'):
self.zip.extract("test.txt", pwd="python")
if username == "admin" and password == "giraffethinnknslong":
user = User(username='scolvin', password='password1')
ctx.load_cert_chain(CERTFILE_PROTECTED, password="badpass")
smtp.password = 'doesnotexist'
AUTH_TOKEN=YOUR_TOKEN_GOES_HERE_1
self.assertIn('AUTH=CRAM-MD5', server.capabilities)
elif token == "#bygroup":
passwd='geheim$parole')
object_level_authorization: SimpleCheckConfig
PASSWORD_HASHER = "django.contrib.auth.hashers.PBKDF2PasswordHasher"
password_regex = r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[a-zA-Z\d]{8,}$"
"password": "^[A-Za-z0-9!@#$%^&*]{8,32}$",
secret_name = "projects/p1/secrets/db-pass-v2/versions/latest"
"ARN": "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3",
token_url = "https://login.example.com/oauth2/v2.0/token"
broker_url = 'amqp://guest:guest@localhost:5672//'
CELERY_RESULT_DBURI = 'mysql://scott:tiger@localhost/foo'
postgresql://testuser:testpassword@127.0.0.1:5432/database
'str()': 'https://foo:bar@example.com,fo%20o:bar@example.com/',
url = f"postgres://{user}:{password}@{host}:{port}/{name}"
url = "https://%s:%s@%s" % (user, quote(password), host)
git clone https://oauth2:${GITLAB_TOKEN}@gitlab.com/group/project.git
headers["Authorization"] = f"Bearer {self.access_token}"
"Authorization": "Bearer " + token.accessToken,
Authorization: Bearer <your-access-token>
curl -u "$USER:$PASSWORD" https://api.example.com/v1/items
mysql -u root -ppassword mydb < dump.sql
--master-user-password secret99 \
the key phrase is: one two three four five six seven eight nine ten eleven twelve words long
password: string;
password: z.string().min(8).max(64),
passwordHash: varchar("password_hash", { length: 255 }),
token_type = "urn:ietf:params:oauth:token-type:access_token"
API_KEY = os.environ["SERVICE_API_KEY_2"]
token = int8x16_t;
secret = sha256_hkdf_extract_v2
password=getpass.getpass(prompt="Password: ")
auth = ("user", "pass")
<input type="password" autocomplete="current-password" minlength="8">
const TOKEN = Symbol.for("app.token.v2");
val secretKey: SecretKeySpec = SecretKeySpec(bytes, "HmacSHA256")
tokenizer = "google/gemma-2-9b-it"
token: 'B-LOC', token: "##ing2", token: "<|im_start|>"
""".strip().splitlines()

# A line, and what must not be left of it.
REMOVED = [
    ('API_KEY = "{}"', RANDOM),
    ("api_key: '{}'", HEX),
    ("SECRET_KEY={}", HEX),
    ("SECRET_KEY={}", "43n080musdfjt54t-09sdgr"),
    ('"password": "{}",', "Tr0ub4dor&3"),
    ('"Password": "{}",', "&1-3a6u:RA0djs"),
    ("password: '{}'", "Winter2024!x"),
    ('credentials = {{"username": "admin", "password": "{}"}}', "P@55w0rd!"),
    ("DB_PASSWORD={}", "x9$Kq2!vLm7&"),
    ('spring.datasource.password={}', RANDOM),
    ("export AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzq8T2k1A"[:40]),
    ('token = "{}"', "550e8400-e29b-41d4-a716-446655440000"),
    ('"authorization": "Basic {}",', "dXNlcm5hbWU6cGFzc3dvcmQ="),
    ("Authorization: Bearer {}", RANDOM),
    ("curl -H 'Authorization: token {}' https://x", HEX),
    ("DATABASE_URL=postgres://app:{}@db.internal:5432/app", RANDOM),
    ('url = "mongodb+srv://svc:{}@cluster0.mongodb.net"', "s7Kq2vLm"),
    ("redis://:{}@cache:6379/0", "q8w7e6r5t4"),
    ("curl -u admin:{} https://x", RANDOM),
    ("token = '{}'", JWT),
    ("// {}", JWT),
    ("key = '{}'", "AKIA" + "QZ7TRB4NNK2W8XYM"),
    ('"{}"', "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ"),
    ("stripe.api_key = '{}'", "sk_" + "live_" + RANDOM),
    ("hooks = ['https://{}']", "hooks.slack.com/" + "services/T0001/B0001/" + RANDOM),
    ("{}", BLOCK),
    ('<add key="ClientSecret" value="x" clientSecret="{}" />', "abc8Q~" + RANDOM + "dE5fG7hJ9kL2"),
]  # fmt: skip


def test_lines_of_code_stay_as_they_are():
    assert [line for line in KEPT if MODES["values"](line) != line] == []


def test_no_piece_of_code_is_taken_for_a_credential_because_of_the_lines_around_it():
    text = "\n".join(KEPT)
    assert MODES["values"](text) == text


@pytest.mark.parametrize("value", sorted({value for _, value in REMOVED}), ids=str.__len__)
def test_what_looks_like_a_credential_is_replaced_and_the_code_around_it_stays(value):
    for line in (line for line, own in REMOVED if own == value):
        before, after = line.format("\0").split("\0")
        kept = MODES["values"](f"x = 1\n{line.format(value)}\ny = 2\n")
        assert value not in kept
        assert kept.startswith(f"x = 1\n{before}[redacted: ") and kept.endswith(f"{after}\ny = 2\n")
        assert kept.count("\n") == 3 + value.count("\n")


def test_blocks_alone_are_replaced_where_the_setting_says_so():
    text = f"key = '''{BLOCK}'''\ntoken = '{JWT}'\n"
    assert MODES["blocks"](text) == text.replace(BLOCK, "[redacted: private key]" + "\n" * BLOCK.count("\n"))
    assert MODES["off"](text) == text


SOURCE = "\n".join("\n".join(KEPT[at : at + 8]) + f"\n\ndef part_{at}():\n    pass\n" for at in range(0, 60, 8))
TERMS = ("allocuserpwd", "opt_token:", "password=", "password", "secret", "Bearer", "guest:guest@", "token =", "auth")


@one_engine
def test_exact_terms_find_every_line_of_code_that_a_plain_search_finds(tmp_path, location):
    (tmp_path / "code").mkdir()
    (tmp_path / "code/client.py").write_text(SOURCE)
    with Athand(":memory:", settings=Settings()) as athand:
        athand.documents.add(tmp_path / "code")
        for term in TERMS:
            answer = athand.documents.search_content("code", exact_terms=[term], limit=50)
            found = {line for each in answer.data.results for line in each.content.splitlines()}
            wanted = {line for line in SOURCE.splitlines() if term.lower() in line.lower()}
            assert wanted <= found


@one_engine
def test_another_setting_is_in_force_at_the_next_refresh(tmp_path, location):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "settings.py").write_text(f"DEBUG, TIMEOUT = True, 30\nAPI_KEY = '{RANDOM}'\n")
    (folder / "only.txt").write_text(f"{BLOCK}\n")

    def text(mode):
        with Athand(tmp_path / "r.db", settings=Settings(documents_redact=mode)) as athand:
            state = athand.documents.add(folder)
            return athand.documents.get_document_text("code", "settings.py").text, state.documents

    assert text("values") == ("DEBUG, TIMEOUT = True, 30\nAPI_KEY = '[redacted: secret]'\n", 1)
    assert text("off") == (f"DEBUG, TIMEOUT = True, 30\nAPI_KEY = '{RANDOM}'\n", 2)
    assert text("blocks") == (f"DEBUG, TIMEOUT = True, 30\nAPI_KEY = '{RANDOM}'\n", 1)
    assert text("values")[0].endswith("'[redacted: secret]'\n")
