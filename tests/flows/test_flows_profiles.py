import pytest

from athand.errors import BadData, InvalidInput
from athand.flows.profiles import Profiles, load_profile


def written(folder, text, name="shop"):
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_two_profiles_come_with_the_package():
    profiles = Profiles()
    assert profiles.names() == ["default", "metamask"]
    assert profiles.get("default").prefix == "ui_"
    assert profiles.get("default").infer
    assert profiles.get("metamask").prefix == "mm_"
    assert not profiles.get("metamask").infer


def test_the_wallet_profile_knows_its_screens():
    screens = Profiles().get("metamask").screens
    wanted = "unlock home settings send swap bridge confirm-transaction confirm-signature notification unknown".split()
    assert set(wanted) < set(screens)
    assert {name for name in screens if name not in wanted} == {name for name in screens if "onboarding-" in name}
    assert len(screens) > len(wanted) + 3


def test_an_app_without_a_profile_has_the_default_one_under_its_own_name():
    own, default = Profiles().get("localhost:3000"), Profiles().get("default")
    assert own.name == "localhost:3000"
    assert (own.prefix, own.flow_tags, own.synonyms) == (default.prefix, default.flow_tags, default.synonyms)


def test_a_profile_of_a_folder_is_read_and_wins_over_the_package_and_later_folders(tmp_path):
    written(tmp_path / "one", 'prefix = "a_"', "metamask")
    written(tmp_path / "two", 'prefix = "b_"', "metamask")
    written(tmp_path / "two", 'prefix = "c_"', "default")
    profiles = Profiles([tmp_path / "one", tmp_path / "two", tmp_path / "missing"])
    assert profiles.get("metamask").prefix == "a_"
    assert profiles.get("some app").prefix == "c_"


def test_everything_in_a_profile_can_be_said(tmp_path):
    profile = load_profile(
        written(
            tmp_path,
            """
            prefix = "shop_"
            test_id_attribute = "data-qa"
            infer = false
            flow_tags = ["checkout"]
            synonyms = [["cart", "basket"]]
            secret_fields = ["gift-card"]
            url_rules = [{ pattern = "/cart", screen = "cart" }]
            [[test_id_rules]]
            test_id = "pay-*"
            screen = "payment"
            """,
        )
    )
    assert profile.name == "shop"
    assert profile.test_id_attribute == "data-qa"
    assert profile.screens == ("cart", "payment", "unknown")
    assert profile.synonyms == (("cart", "basket"),)
    assert profile.to_dict()["url_rules"] == [{"pattern": "/cart", "screen": "cart"}]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("prefix = ", "TOML"),
        ("\udcff", "TOML"),
        ('prefx = "a_"', "prefx"),
        ("prefix = 3", "prefix"),
        ('prefix = "a b"', "prefix"),
        ('infer = "yes"', "infer"),
        ('test_id_attribute = "a]"', "test_id_attribute"),
        ('flow_tags = "send"', "flow_tags"),
        ('flow_tags = ["send", ""]', r"flow_tags\[1\]"),
        ('synonyms = ["send"]', r"synonyms\[0\]"),
        ('synonyms = [["send"]]', r"synonyms\[0\]"),
        ('url_rules = [{ pattern = "/a" }]', r"url_rules\[0\]"),
        ('url_rules = [{ pattern = "/a", screen = "a", more = 1 }]', r"url_rules\[0\]"),
        ('url_rules = [{ pattern = "send", screen = "a" }]', r"url_rules\[0\].pattern"),
        ('url_rules = [{ pattern = "https://x/a", screen = "a" }]', r"url_rules\[0\].pattern"),
        ('url_rules = [{ pattern = "/a", screen = "" }]', r"url_rules\[0\].screen"),
        ("test_id_rules = [1]", r"test_id_rules\[0\]"),
        ('test_id_rules = { test_id = "a", screen = "b" }', "test_id_rules"),
        (f"flow_tags = {'[' * 5000}", "TOML"),
    ],
)
def test_a_broken_profile_is_refused_and_the_place_is_named(tmp_path, text, named):
    file = tmp_path / "shop.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadData, match=named) as refused:
        Profiles([tmp_path]).get("shop")
    assert "shop.toml" in str(refused.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "shop.toml").mkdir()
    with pytest.raises(BadData, match=r"shop\.toml"):
        Profiles([tmp_path]).get("shop")


def test_a_broken_profile_does_not_hinder_the_others(tmp_path):
    written(tmp_path, "prefix = 3", "broken")
    assert Profiles([tmp_path]).get("metamask").prefix == "mm_"


@pytest.mark.parametrize("name", ["../shop", "a/b", "..", ".hidden", "a\\b", "/etc/passwd", "", "a\0b", "a\nb"])
def test_a_name_is_never_a_path(tmp_path, name):
    written(tmp_path, 'prefix = "x_"')
    with pytest.raises(InvalidInput):
        Profiles([tmp_path / "inner"]).get(name)
