from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dra_fleet.rehearsal.simulator.controlplane.pki import USERS, Pki


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    made = Pki(tmp_path_factory.mktemp("cluster") / "pki")
    made.ensure()
    return made


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_no_key_is_readable_by_others(pki: Pki) -> None:
    assert pki.directory.stat().st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o777 for path in pki.directory.iterdir()} == {0o600}


def test_every_certificate_is_the_clusters_own_authoritys(pki: Pki) -> None:
    authority = read(pki.ca)
    for name in ("server", *USERS):
        read(pki.certificate(name)).verify_directly_issued_by(authority)


def test_the_server_is_known_by_loopback_and_service_names(pki: Pki) -> None:
    names = read(pki.certificate("server")).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert "kubernetes.default.svc" in names.value.get_values_for_type(x509.DNSName)
    assert "localhost" in names.value.get_values_for_type(x509.DNSName)
    addresses = [str(address) for address in names.value.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1", "10.96.0.1"]


def test_only_the_administrator_is_a_master(pki: Pki) -> None:
    groups = {
        name: [
            str(entry.value)
            for entry in read(pki.certificate(name)).subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        ]
        for name in USERS
    }
    assert groups == {"admin": ["system:masters"], "scheduler": [], "controller-manager": [], "kwok": []}


def test_a_users_certificate_is_no_servers(pki: Pki) -> None:
    usage = read(pki.certificate("kwok")).extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    assert list(usage.value) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_existing_objects_are_kept(pki: Pki) -> None:
    before = {path: path.read_bytes() for path in pki.directory.iterdir()}
    pki.ensure()
    assert {path: path.read_bytes() for path in pki.directory.iterdir()} == before


def test_a_half_made_set_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "pki.making").mkdir()
    (tmp_path / "pki.making" / "ca.crt").write_text("half")
    pki = Pki(tmp_path / "pki")
    pki.ensure()
    assert read(pki.ca)
    assert not (tmp_path / "pki.making").exists()


def test_two_clusters_do_not_trust_each_other(pki: Pki, tmp_path: Path) -> None:
    other = Pki(tmp_path / "pki")
    other.ensure()
    with pytest.raises(InvalidSignature):
        read(other.certificate("admin")).verify_directly_issued_by(read(pki.ca))
