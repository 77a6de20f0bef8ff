import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.memories.sectors import MEMORY_TYPES, SECTOR_OF_TYPE, SECTORS, TIERS, classify

# What the cues were chosen on.
DEVELOPMENT = {
    "emotional": """
        The user prefers dark mode in every editor.
        I love how quickly the new test suite runs.
        He is really happy with the redesigned onboarding.
        Sam is worried that the launch will slip.
        The user dislikes it when commit messages are long.
        Please never use semicolons in my TypeScript, I can't stand them.
        The customer got angry about the second outage.
        They'd rather have tabs than spaces.
        Caroline felt grateful for the support of her friends.
        I'm tired of merge conflicts in the lock file.
        Keep replies short: Leo has no patience for long explanations.
        The user is allergic to clever one-liners and would like plain code.
        Nora was over the moon when her talk got accepted.
        I'd love to see fewer dependencies in this project.
        Marcus dreads the weekly status call.
        User wants British spelling everywhere and is picky about it.
        My daughter is terrified of dogs.
        The on-call rota makes everybody on the team grumpy.
        She prefers being asked before any file is deleted.
        Vim keybindings are a must for him, he can't work without them.
    """,
    "reflective": """
        We chose PostgreSQL over MongoDB because we need transactions.
        Realised that most of the latency comes from DNS lookups.
        The trade-off is slower writes for much faster reads.
        I should have asked for the logs before guessing.
        It turned out that the cache was never being invalidated.
        Going with server-side rendering instead of a single-page app.
        We concluded that the vendor's SDK is not worth the weight.
        I think the retry logic hides real failures.
        The experiment taught us that users ignore the sidebar.
        The design favours simplicity over flexibility.
        We went back and forth on tabs and ended up with the formatter's default.
        Picking SQLite was right: no server to run and still fast enough.
        The more I read about CRDTs, the less I want them in this product.
        We moved away from microservices because the team is only four people.
        Turn summary: reviewed the auth flow, proposed two fixes, user accepted the second.
        I learned that praise works better than pressure with junior colleagues.
        The cost of the vendor outweighs the time it saves.
        It is better to fail loudly at start-up than to limp along with a bad config.
        My takeaway from the trip: travel lighter.
        We considered Kafka but it is overkill for ten messages a second.
    """,
    "episodic": """
        Yesterday Alice fixed the login bug.
        Met with the design team last week to review the mock-ups.
        Finished migrating the user table to the new schema.
        The build broke after the merge of pull request 412.
        Completed the refactoring of the payment module.
        Shipped the beta to the first ten customers.
        The user reported a crash during the demo.
        Merged the feature branch and closed the ticket.
        Our first release came out in 2019.
        Upgraded the cluster during the weekend.
        The nightly job failed again with exit code 137.
        Caroline adopted a kitten named Miso last month.
        Removed the deprecated v1 endpoints and updated the changelog.
        We ran out of disk on the build machine twice in one week.
        On 12 April the vendor changed its price list.
        Jo presented the roadmap at the all-hands.
        Added retry logic to the uploader; all checks pass.
        He broke his arm skiing and was off work for six weeks.
        User switched from macOS to Linux in January.
        The first customer signed the contract this week.
    """,
    "procedural": """
        To release, bump the version and push a tag.
        First stop the workers, then apply the migration.
        Make sure the VPN is connected when you deploy.
        You must set DATABASE_URL or the tests will hang.
        Install the dependencies with pip install -e .
        Use black for formatting and ruff for linting.
        Knead the dough for ten minutes and let it rest.
        When a migration fails, restore the snapshot and rerun it.
        Create a branch from main, commit, and open a pull request.
        In order to debug the worker, attach to port 5678.
        Before a release, freeze main and regenerate the lock file.
        Log in to the bastion, then hop to the worker with ssh -J.
        Never edit generated files; change the template and rerun make gen.
        The trick to a clean rebase is to squash the fixups beforehand.
        Feature flags are removed two releases after launch: delete the flag, the branch and the test.
        Press and hold the reset button for five seconds until the light blinks.
        Check for None before you access user.profile, it is missing for service accounts.
        When the tests time out locally, raise ulimit -n to 4096.
        Always quote shell variables in the deploy scripts.
        You need to source the env file or the CLI will not find its token.
    """,
    "semantic": """
        The configuration lives in config/settings.toml.
        An order consists of one or more line items.
        Project Atlas is written in Go.
        The default timeout is 30 seconds.
        The frontend and the backend share one repository.
        The class UserStore implements the Store interface.
        Each tenant has its own schema.
        JWT stands for JSON Web Token.
        The office has two floors and a roof terrace.
        The endpoint accepts JSON and XML.
        The worker pool has eight processes by default.
        Invoices older than ten years are archived to cold storage.
        tests/fixtures contains recorded responses of the payment provider.
        Our staging domain is staging.example.com.
        User's name is Ana, she lives in Porto and speaks Portuguese and English.
        React components follow the container/presenter split.
        HTTP 409 means that the version sent was not the latest.
        There are two kinds of tokens: access tokens and refresh tokens.
        The scheduler picks up jobs every 15 seconds.
        Max is Ana's brother and works at a bakery.
    """,
}
# Written after the cues were chosen. Measured then: 37 of 50; later "gotcha" became a cue because of these.
HELD_OUT = {
    "emotional": """
        Sofia thinks red buttons look aggressive and asked for blue.
        The user gets impatient when answers start with a disclaimer.
        I really like the way the error messages read now.
        Omar is fond of functional style and frowns at classes.
        No jokes in code reviews please, Ines takes them badly.
        The move to Oslo left her homesick for months.
        User hates waiting for CI and wants it under five minutes.
        It cheers the team up to see green builds on the wall.
        Pavel's biggest fear is losing the photos of his kids.
        Emma would rather read the diff than a summary of it.
    """,
    "reflective": """
        Writing the tests first saved us from two wrong designs.
        We decided against a plugin system until somebody asks for one.
        The flakiness came from shared state, not from the network as we thought.
        Weekly demos keep us honest, so they stay.
        Using UUIDs as primary keys was a mistake for this workload.
        My reading habit only stuck when I stopped counting pages.
        Chose Tailwind since nobody wanted to maintain a design system.
        Overall the session was about pricing: three models compared, none convincing yet.
        Simple code is easier to delete than clever code.
        We now know that most users never open the settings page.
    """,
    "episodic": """
        Hana passed her driving test on the third attempt.
        The certificate of api.example.com was renewed on 1 March 2025.
        Refactored the tokenizer and got a 20% speed-up.
        During the call with Acme they asked for an on-premise version.
        Last night's backup is missing, the disk was full.
        Liam flew to Tokyo for the conference two days ago.
        The intern found a security hole in the upload form.
        Wrote the migration guide and sent it to the beta testers.
        Task done: dark mode is live behind a flag.
        We celebrated Eva's fortieth birthday at the beach.
    """,
    "procedural": """
        Export the variables, activate the virtualenv and start uvicorn with --reload.
        A new locale needs three things: a JSON file, an entry in index.ts and a screenshot test.
        Gotcha: pandas drops the time zone here, so pass utc=True explicitly.
        To get to the cabin, follow the river until the second bridge.
        Don't merge on Fridays after three.
        If pods crash with OOM, double the memory limit before looking further.
        Grind the beans fresh, bloom for thirty seconds, pour slowly.
        Releases are cut by tagging main and waiting for the pipeline.
        Every handler has to validate its input with zod before touching the database.
        Set the log level with LOG_LEVEL=debug when you investigate timeouts.
    """,
    "semantic": """
        The user table has a composite key of tenant and email.
        Kim leads the data team and reports to Robert.
        Our logs go to Loki, metrics to Prometheus.
        The app supports iOS 16 and later.
        A sprint lasts two weeks.
        utils/dates.py wraps the standard library's datetime.
        The warehouse in Graz ships to Austria and Slovenia.
        GraphQL schema files end with .graphql and sit next to their resolvers.
        The free plan allows five projects and one gigabyte of storage.
        Water boils at a lower temperature in the mountains.
    """,
}


def share_classified_as_labelled(labelled):
    results = [
        classify(line.strip()) == sector for sector, lines in labelled.items() for line in lines.strip().splitlines()
    ]
    return sum(results) / len(results)


@pytest.mark.parametrize(
    ("text", "sector"),
    [
        ("Decided to use React with TypeScript for the frontend", "reflective"),
        ("To deploy, run npm build then upload to S3", "procedural"),
        ("The API routes are defined in src/routes/api.ts", "semantic"),
    ],
)
def test_the_examples_of_the_first_implementation_keep_their_sectors(text, sector):
    assert classify(text) == sector


def test_the_sentences_the_cues_were_chosen_on_are_classified_as_labelled():
    assert share_classified_as_labelled(DEVELOPMENT) >= 0.97


def test_most_sentences_the_cues_were_not_chosen_on_are_classified_as_labelled():
    assert share_classified_as_labelled(HELD_OUT) >= 0.72


@pytest.mark.parametrize("text", ["", " \n", "xyzzy", "12345", "🦊", "東京タワー", "Blue."])
def test_a_text_without_any_cue_is_a_plain_fact(text):
    assert classify(text) == "semantic"


@pytest.mark.parametrize(
    ("text", "sector"),
    [
        ("loves, decided", "emotional"),
        ("decided yesterday", "reflective"),
        ("yesterday: how to", "episodic"),
        ("how to, the API", "procedural"),
    ],
)
def test_equal_counts_go_to_the_sector_that_comes_first(text, sector):
    assert classify(text) == sector


def test_the_highest_count_wins_over_the_order():
    assert classify("Loves it, but: first, make sure the tests run, then install") == "procedural"


@pytest.mark.parametrize("text", ["gloves and hatstands", "we are undecided", "crunch", "metric"])
def test_a_cue_inside_a_longer_word_does_not_count(text):
    assert classify(text) == "semantic"


@pytest.mark.parametrize("text", ["I can't stand it", "I can\u2019t stand it", "I'd like it blue", "They'd rather not"])
def test_contractions_are_cues(text):
    assert classify(text) == "emotional"


@pytest.mark.parametrize("text", ["WE DECIDED ON IT", "in\nhindsight", "In   Hindsight"])
def test_case_and_white_space_do_not_matter(text):
    assert classify(text) == "reflective"


def test_every_memory_type_has_a_sector():
    assert set(SECTOR_OF_TYPE) == set(MEMORY_TYPES)
    assert set(SECTOR_OF_TYPE.values()) == set(SECTORS)
    assert TIERS == ("session", "project", "global")


@given(st.text())
def test_every_text_has_a_sector(text):
    assert classify(text) in SECTORS


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["asked ", "a", " ", "\n", "use a ", "if a", "was ", "to x ", "Loved: "])
def test_a_megabyte_is_classified_at_once(piece):
    assert classify(piece * (1_000_000 // len(piece))) in SECTORS
