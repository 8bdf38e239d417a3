"""Devices and literals for random selectors, ordinary ones first, awkward ones last."""

from __future__ import annotations

from typing import Any

DRIVER = "gpu.example.com"

DEVICES: list[dict[str, Any]] = [
    {
        "name": "full",
        "allowMultipleAllocations": True,
        "attributes": {
            "type": {"string": "gpu"},
            "index": {"int": 3},
            "healthy": {"bool": True},
            "driverVersion": {"version": "580.126.9"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"},
            "other.example.com/type": {"string": "nic"},
        },
        "capacity": {
            "memory": {"value": "40Gi"},
            "cores": {"value": "108"},
            "other.example.com/memory": {"value": "1500m"},
        },
    },
    {
        "name": "small",
        "attributes": {
            "type": {"string": "mig"},
            "index": {"int": -1},
            "healthy": {"bool": False},
            "driverVersion": {"version": "1.2.3-beta.1+build"},
        },
        "capacity": {"memory": {"value": "4864Mi"}, "cores": {"value": "0"}},
    },
    {
        "name": "swapped",
        "attributes": {"type": {"int": 1}, "index": {"string": "3"}, "healthy": {"version": "1.0.0"}},
    },
    {"name": "empty"},
]

DOMAINS = (DRIVER, DRIVER, DRIVER, "resource.kubernetes.io", "other.example.com", "absent.example.com")
IDS = ("type", "index", "healthy", "driverVersion", "pcieRoot", "absent")
STRINGS = (
    "",
    "gpu",
    "mig",
    "pci0000:10",
    "A100-SXM4",
    "a,b,c",
    "1.2.3",
    "40Gi",
    "3",
    "é",
    "10.0.0.1",
    "x y ",
)
PATTERNS = ("^g.*", "[a-z]+", "a|b", "^$", "(", "[0-9]{2}", "(?i)GPU", "\\\\d+", ".")
QUANTITIES = (
    "1",
    "0",
    "40Gi",
    "4864Mi",
    "1500m",
    "1e3",
    "2k",
    "-5",
    "0.5",
    "1.5Gi",
    "1Ei",
    "9223372036854775807",
    "100n",
    "x",
    "1 Gi",
)
VERSIONS = (
    "1.2.3",
    "580.126.9",
    "1.2.3-beta.1",
    "1.2.3-beta.1+x",
    "2.0.0",
    "v1.2",
    "1.2",
    "01.2.3",
    "1.0.0-rc.11",
    "1.0.0-rc.2",
    "x",
)
ADDRESSES = (
    "10.0.0.1",
    "127.0.0.1",
    "::1",
    "fe80::1",
    "169.254.1.1",
    "224.0.0.1",
    "ff02::1",
    "::ffff:1.2.3.4",
    "1.2.3",
    "2001:DB8::1",
    "0.0.0.0",  # noqa: S104 - a text to read, no address to bind
    "255.255.255.255",
    "fe80::1%25eth0",
)
RANGES = (
    "10.0.0.0/8",
    "10.1.0.0/16",
    "192.168.0.1/24",
    "::/0",
    "2001:db8::/32",
    "10.0.0.0",
    "10.0.0.0/33",
    "1.2.3.4/08",
)
INTS = ("0", "1", "-1", "3", "108", "9223372036854775807", "-9223372036854775808", "2")
DOUBLES = ("0.0", "1.5", "-2.25", "3.0", "1e308")
UINTS = ("0u", "1u", "3u", "18446744073709551615u")
DURATIONS = ("1s", "90m", "-1h", "0s", "soon")
TIMES = ("2024-01-01T00:00:00Z", "2024-02-29T12:34:56Z", "never")

NAMED_FORMATS = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)
URL_PARTS = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
URLS = (
    "https://a.example.com:8080/b%2Fc?d=e#f",
    "https://[fe80::1%25en0]:80",
    "/b c",
    "mailto:x@y",
    "https://u:p@a?",
    "https://a:b",
    "a/b",
    "",
)
FORMAT_TEXTS = (
    "",
    "a",
    "-a",
    "a-",
    "ab-",
    "-",
    "--",
    "a.b",
    "a.-",
    "A",
    "1a",
    "a_b",
    "a b",
    "a/b",
    "a/b/c",
    "/b",
    "example.com/My_Name",
    "x" * 63,
    "x" * 64,
    "x" * 63 + ".y",
    "y." * 127,
    "é",
    "a\\n",
    "http://x",
    "123e4567-e89b-12d3-a456-426614174000",
    "123E4567e89b12d3a456426614174000",
    "aGVsbG8=",
    "aGVsbG8",
    "YQ==",
    "2024-02-29",
    "2023-02-29",
    "0000-02-29",
    "2024-13-01",
    "2024-2-1",
    "20240101",
    "2024-01-01T00:00:00Z",
    "2024-01-01t23:59:59,5z",
    "2024-01-01T24:00:00Z",
    "2024-01-01T00:00:60Z",
    "2024-01-01T00:00:00+02:00",
    "2024-01-01T00:00:00",
    "2024-01-01T00:00:00Zt",
)
TEMPLATES = (
    "%s",
    "%d",
    "%x",
    "%X",
    "%o",
    "%b",
    "%f",
    "%.2f",
    "%e",
    "%.20e",
    "%%",
    "%z",
    "%",
    "a%sb",
    "%s%s",
)
