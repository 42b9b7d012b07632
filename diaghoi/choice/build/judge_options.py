"""Make judges from their names on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from diaghoi.choice.build.candidates import ImageTargets
from diaghoi.choice.build.judges import THRESHOLD, Judge, SimilarityJudge, TimeSensitiveJudge
from diaghoi.choice.build.verdict_files import FileJudge
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches
from diaghoi.language.endpoint import Endpoint, read_endpoints
from diaghoi.semantic.tables.similarity import read_similarity

TIME_SENSITIVE, SIMILARITY, OPTION = "time-sensitive", "similarity:", "--judge"


def is_address(text: str) -> bool:
    """Whether a judge is a model at an address."""
    return "://" in text.split(",")[0]


def read_models(texts: Sequence[str]) -> dict[str, Endpoint]:
    """Read the judges that are models, ``URL,MODEL`` or ``URL,MODEL,VARIABLE``, by their text.

    Raises
    ------
    InputError
        As :func:`diaghoi.language.endpoint.read_endpoints`.
    """
    models = [text for text in texts if is_address(text)]
    return dict(zip(models, read_endpoints(models, OPTION), strict=True))


def judge_files(texts: Sequence[str]) -> list[Path]:
    """List the files that judges are read from."""
    return [
        _similarity(text)[0] if text.startswith(SIMILARITY) else Path(text)
        for text in texts
        if text != TIME_SENSITIVE and not is_address(text)
    ]


def read_judges(
    texts: Sequence[str],
    image_targets: Sequence[ImageTargets],
    vocabulary: Vocabulary,
    models: Mapping[str, Judge],
    *,
    origin: int = 0,
) -> list[Judge]:
    """Make judges from their names on the command line.

    Parameters
    ----------
    texts : sequence of str
        ``time-sensitive``, ``similarity:TABLE`` or ``similarity:TABLE,THRESHOLD``, the address of a
        model, or a file of verdicts.
    image_targets : sequence of ImageTargets
        The images that they judge.
    vocabulary : Vocabulary
        The data set.
    models : mapping of str to Judge
        The judges that are models, by their text.
    origin : {0, 1}
        Whether pixels of boxes in files of verdicts are counted from zero or one.

    Raises
    ------
    InputError
        For an unknown name, a judge that is named twice, and a file that cannot be used.
    """
    twice = next((text for text in texts if list(texts).count(text) > 1), None)
    if twice is not None:
        raise InputError(f"{OPTION} {twice}: is named twice; judges have to be independent")
    judges: list[Judge] = []
    for text in texts:
        if text == TIME_SENSITIVE:
            judges.append(TimeSensitiveJudge())
        elif text.startswith(SIMILARITY):
            path, threshold = _similarity(text)
            judges.append(SimilarityJudge(read_similarity(path), image_targets, threshold))
        elif is_address(text):
            judges.append(models[text])
        else:
            path = Path(text)
            if not path.exists():
                raise InputError(
                    f"{OPTION} {text!r:.100}: there is no such file"
                    f"{close_matches(text, (TIME_SENSITIVE,))}; give a file of verdicts, URL,MODEL "
                    f"of a model, {SIMILARITY}TABLE or {TIME_SENSITIVE}"
                )
            judges.append(FileJudge(path, image_targets, vocabulary, origin))
    return judges


def _similarity(text: str) -> tuple[Path, float]:
    """Read ``similarity:TABLE`` or ``similarity:TABLE,THRESHOLD``."""
    # The name of a file may hold a comma itself: only a number after the last one is a threshold.
    name, comma, number = text.removeprefix(SIMILARITY).rpartition(",")
    if not comma:
        return Path(number), THRESHOLD
    try:
        threshold = float(number)
    except ValueError:
        return Path(text.removeprefix(SIMILARITY)), THRESHOLD
    if not 0 < threshold <= 1:
        raise InputError(f"{OPTION} {text!r:.100}: the threshold must be above 0 and at most 1")
    return Path(name), threshold
