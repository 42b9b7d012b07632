"""The user's settings: the paths of annotations and image labels."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from diaghoi.data.files import ordinary
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.output import replacing

# Only HICO-DET has image labels.
KEYS = (*(f"{name}.annotations" for name in VOCABULARIES), "hico-det.image-labels")
CHANGE = "set it again or remove it with 'diaghoi config unset {key}'"


def settings_file() -> Path:
    """Return the settings file of this user."""
    return Path(typer.get_app_dir("diaghoi")) / "config.json"


def read_settings() -> dict[str, str]:
    """Read all settings; none where the file does not exist.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    file = settings_file()
    if not file.exists():
        return {}
    try:
        settings = json.loads(ordinary(file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: not valid JSON ({error}); fix or delete it") from None
    if not isinstance(settings, dict):
        raise InputError(f"{file}: expected an object of settings; fix or delete it")
    return {str(key): str(value) for key, value in settings.items()}


def setting_of(key: str) -> Path | None:
    """Return the file of a setting, None if it is not set.

    Raises
    ------
    InputError
        If the file no longer exists.
    """
    value = read_settings().get(key)
    if value is None:
        return None
    if not Path(value).exists():
        raise InputError(
            f"{value}: no such file; it is the setting {key}: {CHANGE.format(key=key)}"
        )
    return Path(value)


def check_key(key: str) -> None:
    """Refuse a setting that does not exist.

    Raises
    ------
    InputError
        With the settings that exist.
    """
    if key not in KEYS:
        raise InputError(
            f"unknown setting '{key}'{close_matches(key, KEYS)}; known: {', '.join(KEYS)}"
        )


def change_setting(key: str, value: str | None) -> None:
    """Set a setting; None removes it.

    Raises
    ------
    InputError
        For an unknown key.
    """
    check_key(key)
    settings = {name: old for name, old in read_settings().items() if name != key}
    if value is not None:
        settings[key] = value
    settings_file().parent.mkdir(parents=True, exist_ok=True)
    with replacing(settings_file()) as temporary:
        temporary.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
