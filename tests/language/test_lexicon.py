"""Which lexicon is used: the extract in the package, or a full WordNet that the user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from diaghoi import InputError
from diaghoi.language.lexicon import load_lexicon, using_wordnet


def test_a_folder_holds_within_its_context(tmp_path: Path) -> None:
    usual = load_lexicon()
    with using_wordnet(None):
        assert load_lexicon() is usual
    with using_wordnet(tmp_path):
        with pytest.raises(InputError, match="`wordnet` needs WordNet's dict folder"):
            load_lexicon()
        with using_wordnet(None), pytest.raises(InputError, match="`wordnet`"):
            load_lexicon()
    assert load_lexicon() is usual


def test_numbers_of_senses_may_have_any_length() -> None:
    words = load_lexicon()
    assert words.find("sit.v.1") == words.find("sit.v.0001") == words.number("sit.v.01")
    assert words.find("sit.v." + "1" * 5000) is None
