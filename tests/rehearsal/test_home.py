import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_fleet.rehearsal.home import LONGEST_SOCKET_PATH, Home, HomeUnusableError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_home_is_readable_by_its_user_alone(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    home.create()
    assert {mode(path) for path in (home.root, home.clusters, home.backend, home.pulumi_home, home.bin)} == {
        0o700
    }


def test_a_home_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o755)
    home = Home.at(tmp_path / "home")
    home.create()
    assert mode(home.root) == 0o700


def test_a_directory_with_other_files_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(HomeUnusableError) as refused:
        Home.at(tmp_path).create()
    assert str(refused.value) == (
        f"{tmp_path} holds files that are no rehearsal's; set DRA_FLEET_HOME to a new or empty directory"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_home_that_was_only_begun_is_taken_up(tmp_path: Path) -> None:
    (tmp_path / "rehearsal-home-2").touch()
    (tmp_path / "clusters").mkdir()
    Home.at(tmp_path).create()
    Home.at(tmp_path).create()
    assert Home.at(tmp_path).mark.is_file()


def test_a_home_that_another_caller_makes_in_the_meantime_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.at(tmp_path / "home")
    listing = Path.iterdir

    def listed_while_the_other_works(directory: Path) -> Iterator[Path]:
        home.mark.touch()
        home.log.touch()
        return iter([path for path in listing(directory) if path != home.mark])

    home.root.mkdir()
    monkeypatch.setattr(Path, "iterdir", listed_while_the_other_works)
    home.create()
    assert home.bin.is_dir()


def test_the_environment_names_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRA_FLEET_HOME", str(tmp_path / "x" / ".." / "here"))
    assert Home.default().root == tmp_path / "here"


def test_without_the_environment_the_home_is_the_users_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DRA_FLEET_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert Home.default().root.name == "dra-fleet"


def test_the_socket_of_a_short_home_is_inside_it(tmp_path: Path) -> None:
    home = Home(tmp_path.__class__("/srv/rehearsal"))
    assert home.socket.parent == home.root


def test_the_socket_of_a_long_home_is_short_private_and_its_own(tmp_path: Path) -> None:
    one, other = (Home.at(tmp_path / ("x" * 120) / name) for name in ("one", "other"))
    for home in (one, other):
        home.create()
        assert len(os.fsencode(home.socket)) <= LONGEST_SOCKET_PATH
        assert mode(home.socket.parent) == 0o700
        home.socket.parent.rmdir()
    assert one.socket != other.socket


def test_a_link_in_place_of_the_socket_is_rejected(tmp_path: Path) -> None:
    home = Home.at(tmp_path / ("x" * 120))
    home.socket.parent.symlink_to(tmp_path)
    try:
        with pytest.raises(HomeUnusableError, match="is a symbolic link; remove it, or set DRA_FLEET_HOME"):
            home.create()
    finally:
        home.socket.parent.unlink()


def test_a_home_that_cannot_be_made_says_why_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        HomeUnusableError, match=r"cannot be created: Not a directory; fix: .* set DRA_FLEET_HOME"
    ):
        Home.at(tmp_path / "file" / "home").create()


def test_a_home_of_an_older_version_is_named_with_the_way_out(tmp_path: Path) -> None:
    home = Home.at(tmp_path)
    home.former_mark.touch()
    (tmp_path / "simulator.db").touch()
    home.refuse_foreign()
    with pytest.raises(HomeUnusableError) as refused:
        home.create()
    assert str(refused.value) == (
        f"an older version of dra-fleet made the rehearsal in {tmp_path}, and its state has other names; "
        "fix: dra-fleet rehearse down --remove, which ends the rehearsal and deletes its simulated clusters"
    )
    assert not home.mark.exists()
