"""A cluster's own certificate authority, its certificates and its service-account keys.

Everything is made at once into one directory that appears whole or not at all.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import shutil
import ssl
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Iterable

VALID_FOR = dt.timedelta(days=3650)
CLOCK_SKEW = dt.timedelta(minutes=5)
SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVER_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")
"""The last is the `kubernetes` Service: the first address of the Service range."""

USERS = {
    "admin": ("rehearsal-admin", "system:masters"),
    "scheduler": ("system:kube-scheduler", None),
    "controller-manager": ("system:kube-controller-manager", None),
    "kwok": ("rehearsal:kwok", None),
}
"""Client certificates: user name and group, as the API server reads them from CN and O.
https://kubernetes.io/docs/reference/access-authn-authz/rbac/#core-component-roles"""


class Pki(Struct, frozen=True):
    """Paths of one cluster's keys and certificates."""

    directory: Path

    @property
    def ca(self) -> Path:
        """The authority's certificate."""
        return self.directory / "ca.crt"

    @property
    def service_account_key(self) -> Path:
        """The private key that signs ServiceAccount tokens."""
        return self.directory / "sa.key"

    @property
    def service_account_public_key(self) -> Path:
        """The public key that verifies ServiceAccount tokens."""
        return self.directory / "sa.pub"

    def certificate(self, name: str) -> Path:
        """Return the certificate of the server or of a user."""
        return self.directory / f"{name}.crt"

    def key(self, name: str) -> Path:
        """Return the private key of the server or of a user."""
        return self.directory / f"{name}.key"

    def ensure(self) -> None:
        """Make all keys and certificates unless they are there. The authority's own key is not kept."""
        if self.directory.is_dir():
            return
        making = self.directory.with_name(f"{self.directory.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(mode=0o700, parents=True)
        _make(Pki(making))
        making.rename(self.directory)


class Serving(Struct, frozen=True):
    """TLS context of a server on the loopback, and its authority for clients."""

    context: ssl.SSLContext
    authority: bytes


@cache
def loopback_serving() -> Serving:
    """Return the certificate of this process's own servers; its authority lives as long as the process."""
    authority = LoopbackAuthority("rehearsal-webhooks")
    return Serving(authority.context(SERVER_NAMES, SERVER_ADDRESSES), authority.certificate)


class LoopbackAuthority:
    """An authority for servers on the loopback; its key is never written and lives as long as the object."""

    def __init__(self, name: str) -> None:
        self._authority = _Authority(name)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self.certificate = self._authority.certificate.public_bytes(Encoding.PEM)

    def context(self, names: Iterable[str], addresses: Iterable[str] = ()) -> ssl.SSLContext:
        """Return a server's context with a certificate for these names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with TemporaryDirectory() as folder:
            certificate, private = Path(folder) / "server.crt", Path(folder) / "server.key"
            write_private(certificate, self._authority.sign_server(key, names, addresses))
            write_private(private, _pem(key))
            context.load_cert_chain(certificate, private)
        return context

    def context_by_name(self) -> ssl.SSLContext:
        """Return a server's context that shows each client a certificate for the name that it requests."""

        def choose(socket: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name:
                if name not in self._contexts:
                    self._contexts[name] = self.context([name])
                socket.context = self._contexts[name]

        context = self.context(["localhost"])
        context.sni_callback = choose
        return context


def _make(pki: Pki) -> None:
    authority = _Authority("rehearsal-ca")
    write_private(pki.ca, authority.certificate.public_bytes(Encoding.PEM))
    key = ec.generate_private_key(ec.SECP256R1())
    write_private(pki.certificate("server"), authority.sign_server(key, SERVER_NAMES, SERVER_ADDRESSES))
    write_private(pki.key("server"), _pem(key))
    for name, (user, group) in USERS.items():
        key = ec.generate_private_key(ec.SECP256R1())
        write_private(pki.certificate(name), authority.sign_client(key, user, group))
        write_private(pki.key(name), _pem(key))
    key = ec.generate_private_key(ec.SECP256R1())
    write_private(pki.service_account_key, _pem(key))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    write_private(pki.service_account_public_key, public)


class _Authority:
    """Signs with a key that lives only as long as this object."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _name(name, None)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        self.certificate = (
            self._builder(self._subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def sign_server(
        self, key: ec.EllipticCurvePrivateKey, names: Iterable[str], addresses: Iterable[str]
    ) -> bytes:
        """Return a serving certificate for names and addresses."""
        known = [x509.DNSName(name) for name in names]
        numbers = [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        builder = self._builder(_name("rehearsal-server", None), key.public_key()).add_extension(
            x509.SubjectAlternativeName([*known, *numbers]), critical=False
        )
        return self._sign(builder, ExtendedKeyUsageOID.SERVER_AUTH)

    def sign_client(self, key: ec.EllipticCurvePrivateKey, user: str, group: str | None) -> bytes:
        """Sign a client certificate that the API server reads as this user, in this group."""
        return self._sign(
            self._builder(_name(user, group), key.public_key()), ExtendedKeyUsageOID.CLIENT_AUTH
        )

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + VALID_FOR)
        )

    def _sign(self, builder: x509.CertificateBuilder, usage: x509.ObjectIdentifier) -> bytes:
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(authority, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(Encoding.PEM)


def _name(common_name: str, organization: str | None) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
