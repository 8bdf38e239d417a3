import pytest

from dra_fleet.fleet import SettingsInvalid, parse


@pytest.mark.parametrize("key", ["<", "<model>", "[key]"])
def test_an_unknown_key_that_looks_like_a_tag_is_reported_as_any_other(key: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        parse({key: None})
    assert f"dra-fleet:fleet.{key}: unknown key" in str(refused.value)
