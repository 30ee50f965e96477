import pytest

from proctor.tasks import VariableMissing, resolve_env, resolve_header

VARIABLES = {"KEY": "k", "EMPTY": ""}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ("${KEY}", "k"),
        ("${KEY:-other}", "k"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY:-other}", ""),
        ("Bearer ${KEY}", "Bearer ${KEY}"),
        ("${NONE:-${KEY}}", "${KEY}"),
    ],
)
def test_an_env_value_is_a_template_only_as_a_whole(value: str, expected: str) -> None:
    assert resolve_env({"A": value}, VARIABLES) == {"A": expected}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Bearer ${KEY}", "Bearer k"), ("${KEY}:${NONE:-x}", "k:x"), ("none", "none")],
)
def test_a_header_may_embed_templates(value: str, expected: str) -> None:
    assert resolve_header(value, VARIABLES) == expected


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(VariableMissing, match="NONE"):
        resolve_env({"A": "${NONE}"}, VARIABLES)
    with pytest.raises(VariableMissing, match="NONE"):
        resolve_header("Bearer ${NONE}", VARIABLES)
