"""The operator's settings: a wrong one is one clear line."""

from pathlib import Path

import pytest

from specdeploy.settings import Settings, SettingsError, load, own_catalogue, variable


def test_without_any_variable_everything_has_its_default() -> None:
    assert load({}) == Settings()
    assert load({variable(name): "" for name in Settings.model_fields}) == Settings()


def test_every_setting_can_be_set() -> None:
    found = load(
        {
            "SPECDEPLOY_NAMESPACES": "a, b,",
            "SPECDEPLOY_MAX_TRIALS": "7",
            "SPECDEPLOY_WORKERS": "2",
            "SPECDEPLOY_LISTEN": "127.0.0.1:9",
            "SPECDEPLOY_LOG_FORMAT": "JSON",
            "SPECDEPLOY_LOG_LEVEL": "Debug",
            "SPECDEPLOY_ENGINE_IMAGE": "registry/vllm:1",
            "SPECDEPLOY_CATALOG": "/etc/own.yaml",
        }
    )
    assert found == Settings(
        namespaces=("a", "b"), max_trials=7, workers=2, listen="127.0.0.1:9", log_format="json",
        log_level="debug", engine_image="registry/vllm:1", catalog="/etc/own.yaml",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("listen", "address"), [("0.0.0.0:8080", ("0.0.0.0", 8080)), ("[::1]:0", ("::1", 0))]
)
def test_an_address_is_a_host_and_a_port(listen: str, address: tuple[str, int]) -> None:
    assert load({"SPECDEPLOY_LISTEN": listen}).address == address


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("MAX_TRIALS", "0", "greater than or equal to 1"),
        ("MAX_TRIALS", "many", "valid integer"),
        ("WORKERS", "65", "less than or equal to 64"),
        ("LISTEN", "8080", "write host:port"),
        ("LISTEN", ":8080", "write host:port"),
        ("LISTEN", "localhost:http", "write host:port"),
        ("LISTEN", "localhost:65536", "write host:port"),
        ("LOG_FORMAT", "xml", "'json' or 'plain'"),
        ("LOG_LEVEL", "loud", "'debug', 'info'"),
        ("NAMESPACES", "team-*", "no name of a namespace"),
        ("NAMESPACES", "a b", "no name of a namespace"),
        ("ENGINE_IMAGE", "vllm latest", "without spaces"),
    ],
)
def test_a_wrong_value_is_one_line_with_the_variable_the_value_and_why(
    name: str, value: str, why: str
) -> None:
    with pytest.raises(SettingsError) as error:
        load({f"SPECDEPLOY_{name}": value})
    text = str(error.value)
    assert text.startswith(f"SPECDEPLOY_{name}={value!r}: ")
    assert why in text
    assert "\n" not in text


def test_entries_of_ones_own_are_read_from_the_file_that_the_setting_names(tmp_path: Path) -> None:
    file = tmp_path / "catalog.yaml"
    file.write_text("- {model: org/target, family: org, source: we, heads: 24}\n")
    assert own_catalogue(Settings()).targets == ()
    (target,) = own_catalogue(Settings(catalog=str(file))).targets
    assert (target.model, target.heads) == ("org/target", 24)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("- {model: org/target, family: org, source: we, head: 24}", "entry 1 (org/target): "),
        ("model: org/target", "no list of targets"),
    ],
)
def test_entries_that_can_not_be_used_are_one_line_that_names_file_and_entry(
    tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "catalog.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError) as error:
        own_catalogue(Settings(catalog=str(file)))
    assert str(error.value).startswith("SPECDEPLOY_CATALOG: ")
    assert str(file) in str(error.value)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
