from pathlib import Path

import pytest

from devcluster.baseimage import BASE_IMAGE, base_key
from devcluster.images import Build, ca_bundle, parse_pip_list, pip_configuration, uses


def test_the_base_is_known_by_its_packages_in_any_order() -> None:
    assert base_key("bookworm", ["a", "b"]) == base_key("bookworm", ["b", "a"])
    assert base_key("bookworm", ["a"]) != base_key("trixie", ["a"])


@pytest.mark.parametrize(
    ("dockerfile", "arguments", "wanted"),
    [
        (f"ARG BASE={BASE_IMAGE}\nFROM ${{BASE}} AS build\n", (), True),
        ("ARG BASE\nFROM ${BASE}\n", (f"BASE={BASE_IMAGE}",), True),
        ("FROM scratch\n", (), False),
    ],
)
def test_the_base_is_made_only_for_a_dockerfile_that_names_it(
    tmp_path: Path, dockerfile: str, arguments: tuple[str, ...], wanted: bool
) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(dockerfile)
    build = Build(tag="localhost/x:dev", file=file, context=tmp_path, arguments=arguments)
    assert uses(BASE_IMAGE, build) is wanted


def test_pip_settings_are_read_without_their_prefix_and_quotes() -> None:
    listing = ":env:.cert='/a'\nglobal.cert='/b.pem'\nglobal.index-url='https://mirror.test/simple?a=b'\n"
    assert parse_pip_list(listing) == {"cert": "/b.pem", "index-url": "https://mirror.test/simple?a=b"}


def test_a_machine_with_nothing_special_gets_no_pip_configuration() -> None:
    assert pip_configuration({}, {}, None) == ""


def test_a_mirror_and_an_authority_are_handed_to_pip_inside_the_build() -> None:
    text = pip_configuration(
        {"PIP_INDEX_URL": "https://env.test"}, {"index-url": "https://file.test"}, Path("/ca")
    )
    assert text.splitlines() == [
        "[global]",
        "index-url = https://env.test",
        "cert = /etc/ssl/certs/ca-certificates.crt",
    ]


def test_an_authority_that_does_not_exist_is_passed_over(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    assert ca_bundle({"PIP_CERT": "/no/such/file", "SSL_CERT_FILE": str(bundle)}, {}) == bundle
    assert ca_bundle({}, {}) is None
