"""The answers of a model to each question: replies as it wrote them, or chosen options.

JSON lines (or one JSON list) of ``{"image": NAME, "question": "QA_0", "options": [...], "reply":
"A,C"}`` with the options in the order in which the model saw them, or of ``{"image": NAME,
"question": "QA_0", "chosen": [...]}`` with the texts of the options. ``question`` may be left out
where the image has one. Also the layout of the published scorer,
``{"NAME": {"QA_0": [texts]}}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

from diaghoi.choice.option_texts import same_text
from diaghoi.choice.questions import FIRST, MOST_OPTIONS, Question, Questions
from diaghoi.choice.replies import UNREAD, read_reply
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import shown
from diaghoi.formats.content import Content, load

# Options that evaluators add to questions with fewer than four; picking one picks nothing.
FILLERS = ("None", "None of the above", "None of these")
MISSING, CHOSEN = "missing", "chosen"
# Keys of a line.
KEYS = {"image", "question", "options", "reply", "chosen"}


class Answer(NamedTuple):
    """The answer to one question.

    Parameters
    ----------
    picked : tuple of str
        The picked options, each once, in the order of the question.
    shown : tuple of str
        The options in the order in which they were shown, fillers empty; empty where not known.
    places : tuple of int
        Positions of the picked ones among those shown.
    how : str
        As in :class:`diaghoi.choice.replies.ParsedReply`, or ``chosen``, or ``missing``.
    reply : str
        As the model wrote it.
    """

    picked: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    how: str = MISSING
    reply: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """The answers of one model to all questions.

    Parameters
    ----------
    label : str
        Name of the model.
    questions : Questions
        The questions.
    answers : tuple of Answer
        One for each question, in their order.
    notes : tuple of str
        Remarks on the numbers for their reader.
    where : str
        Where triplets of a detector count, for display; empty for replies.
    """

    label: str
    questions: Questions
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    where: str = ""

    @property
    def unread(self) -> list[dict[str, str]]:
        """The replies that count as empty because no choice could be read from them."""
        return [
            {
                "image": question.image,
                "question": question.name,
                "reason": answer.how,
                "reply": answer.reply,
            }
            for question, answer in zip(self.questions.questions, self.answers, strict=True)
            if answer.how in UNREAD
        ]

    @property
    def ways(self) -> dict[str, int]:
        """How many questions were answered in each way."""
        return dict(Counter(answer.how for answer in self.answers).most_common())


def load_answers(path: str | PathLike[str]) -> Content | None:
    """Load a file of answers; None for one that holds something else, such as predictions.

    Raises
    ------
    InputError
        Where the file cannot be opened, or is damaged JSON.
    """
    try:
        with ordinary(path).open("rb") as stream:
            # Pickles and archives can be large, and are never answers.
            text = stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")
    except IsADirectoryError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    content = load(path) if text else None
    return content if content is not None and is_answers(content) else None


def is_answers(content: Content) -> bool:
    """Whether a file holds answers, by its first entry."""
    if content.container != "json":
        return False
    value = content.value
    if isinstance(value, dict) and not _is_line(value):
        value = next(iter(value.values()), None)
        return isinstance(value, dict) and isinstance(next(iter(value.values()), None), list)
    line = value if isinstance(value, dict) else content.first
    return "image" in line and not {"options", "reply", "chosen"}.isdisjoint(line)


def _is_line(value: Mapping[str, Any]) -> bool:
    """Whether an object is one line, which may lack keys, not images in the published layout."""
    return any(not isinstance(value[key], dict) for key in KEYS & value.keys())


def read_answers(
    path: str | PathLike[str], questions: Questions, *, label: str | None = None
) -> Answers:
    """Read the answers of a model.

    Parameters
    ----------
    path : path
        As described above.
    questions : Questions
        The questions.
    label : str, optional
        Name of the model; by default that of the file.

    Returns
    -------
    Answers
        Questions without an answer and replies that cannot be read pick nothing.

    Raises
    ------
    InputError
        For a file that holds no answers or none to these questions, a question that is answered
        twice, and options that are not those of the question.
    """
    return answers_of(load(path), questions, label=label)


def answers_of(content: Content, questions: Questions, *, label: str | None = None) -> Answers:
    """Read the answers of a model from a file that is loaded; see :func:`read_answers`."""
    lines = _lines(content)
    found: dict[int, Answer] = {}
    first_line: dict[int, str] = {}
    unasked: list[str] = []
    unknown: list[str] = []
    for where, line in lines:
        image, name = _asked(where, line, questions)
        place = questions.index_of.get((image, name))
        if place is None:
            unasked.append(f"{image} {name}")
            continue
        if place in found:
            raise InputError(
                f"{where}: image {image!r}: {name} is answered already, at {first_line[place]}; "
                "keep one of the two"
            )
        first_line[place] = where.removeprefix(f"{content.file}: ")
        found[place] = _answer(where, line, questions.questions[place], unknown)
    if not found:
        raise InputError(
            f"{content.file}: answers none of the {len(questions)} questions of {questions.file}"
            + (f"; the first here is of {unasked[0]}" if unasked else "")
            + "; give the answers to these questions"
        )
    return Answers(
        label=content.path.stem if label is None else label,
        questions=questions,
        answers=tuple(found.get(place, Answer()) for place in range(len(questions))),
        notes=tuple(_notes(content.file, questions, found, unasked, unknown)),
    )


def _lines(content: Content) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the answers of a file with their places in it."""
    value, file = content.value, content.file
    if content.container != "json":
        raise InputError(f"{file}: holds no answers; give JSON lines with image and reply")
    if isinstance(value, dict) and not _is_line(value):
        yield from _published(file, value)
        return
    lines, numbers = ([value], (1,)) if isinstance(value, dict) else (value, content.lines)
    for place, line in enumerate(lines):
        where = f"{file}: line {numbers[place]}" if numbers else f"{file}: entry {place + 1}"
        if not isinstance(line, dict):
            raise InputError(f"{where}: {shown(line)} is not an answer; give a JSON object")
        yield where, line


def _published(file: str, value: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the answers in the layout of the published scorer; its reasons are skipped."""
    for image, named in value.items():
        where = f"{file}: image {image!r}"
        if not isinstance(named, dict):
            raise InputError(f"{where}: {shown(named)}; give {{{FIRST!r}: [chosen options]}}")
        for name, chosen in named.items():
            if not name.endswith("_reasoning"):
                yield f"{where}: {name}", {"image": image, "question": name, "chosen": chosen}


def _asked(where: str, line: Mapping[str, Any], questions: Questions) -> tuple[str, str]:
    """Find the question that a line answers: image and name."""
    image = line.get("image")
    if not isinstance(image, str) or not image:
        what = shown(image) if "image" in line else "missing"
        hint = "" if "image" in line else close_matches("image", map(str, line))
        raise InputError(f"{where}: image: {what}{hint}; give the name of the image")
    name = line.get("question")
    if name is None:
        if (image, FIRST) in questions.index_of and (image, "QA_1") in questions.index_of:
            raise InputError(
                f"{where}: question: missing; image {image!r} has several: say which, {FIRST!r} "
                "or another"
            )
        return image, FIRST
    if not isinstance(name, str):
        raise InputError(f"{where}: question: {shown(name)}; give its name, for instance {FIRST!r}")
    return image, name


def _answer(where: str, line: Mapping[str, Any], question: Question, unknown: list[str]) -> Answer:
    """Read one answer; chosen texts that are not options are added to ``unknown``."""
    if "chosen" in line:
        return _chosen(where, line["chosen"], question, unknown)
    if "reply" not in line:
        raise InputError(
            f"{where}: the key 'reply' is missing{close_matches('reply', map(str, line))}; a line "
            "holds image, options and reply, or image and chosen"
        )
    options = _shown(where, line.get("options"), question)
    reply = line["reply"]
    if reply is not None and not isinstance(reply, str):
        raise InputError(f"{where}: reply: {shown(reply)} is not a text; give what the model wrote")
    reading = read_reply(reply or "", [option or FILLERS[0] for option in options])
    picked = {options[place] for place in reading.picked}
    return Answer(
        picked=in_order(question, picked),
        shown=options,
        places=reading.picked,
        how=reading.how,
        reply=reply or "",
    )


def in_order(question: Question, picked: set[str]) -> tuple[str, ...]:
    """Return the picked options of a question, each once, in its order."""
    return tuple(option for option in dict.fromkeys(question.options) if option in picked)


def _chosen(where: str, value: Any, question: Question, unknown: list[str]) -> Answer:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InputError(f"{where}: chosen: {shown(value)}; give a list of option texts")
    texts = {text: _known(text, question) for text in value}
    unknown += [text for text, option in texts.items() if option is None and not _is_filler(text)]
    picked = {option for option in texts.values() if option is not None}
    return Answer(picked=in_order(question, picked), how=CHOSEN)


def _shown(where: str, value: Any, question: Question) -> tuple[str, ...]:
    """Return the options in the order shown, as the question spells them; fillers become empty."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InputError(
            f"{where}: options: {shown(value) if value is not None else 'missing'}; give the "
            "options in the order in which the model saw them"
        )
    if len(value) > MOST_OPTIONS:
        raise InputError(
            f"{where}: options: {len(value)} of them; give at most {MOST_OPTIONS}, one for each "
            "letter"
        )
    # The common case, without comparing spellings.
    if Counter(value) == Counter(question.options):
        return tuple(value)
    known = [_known(text, question) for text in value]
    for text, option in zip(value, known, strict=True):
        if option is None and not _is_filler(text):
            raise InputError(
                f"{where}: options: {shown(text)} is not an option of {question.where}"
                f"{close_matches(text, question.options)}; these are {some_of(question.options)}"
            )
    missing = [option for option in question.options if option not in known]
    if missing:
        raise InputError(
            f"{where}: options: {shown(missing[0])} of {question.where} is not among those shown; "
            "give all options that the model saw"
        )
    return tuple(option or "" for option in known)


def _known(text: str, question: Question) -> str | None:
    if text in question.options:
        return text
    return next((option for option in question.options if same_text(text, option)), None)


def _is_filler(text: str) -> bool:
    return any(same_text(text, filler) for filler in FILLERS)


def _notes(
    file: str,
    questions: Questions,
    found: Mapping[int, Answer],
    unasked: Sequence[str],
    unknown: Sequence[str],
) -> Iterator[str]:
    """State in one sentence each what is missing and what is skipped."""
    missing = [each for place, each in enumerate(questions.questions) if place not in found]
    if missing:
        names = [f"{each.image} {each.name}" for each in missing]
        yield (
            f"{file}: {len(missing)} of {len(questions)} questions have no answer and count as "
            f"empty: {some_of(names)}"
        )
    if unasked:
        yield (
            f"{file}: {len(unasked)} answers are to other questions and are left out: "
            f"{some_of(unasked)}"
        )
    if unknown:
        yield (
            f"{file}: {len(unknown)} chosen texts are no options of their question and count "
            f"neither way: {some_of([shown(text) for text in unknown])}"
        )
    unread = Counter(answer.how for answer in found.values() if answer.how in UNREAD)
    if unread:
        kinds = ", ".join(f"{number} {how}" for how, number in unread.most_common())
        yield (
            f"{file}: {sum(unread.values())} of {len(found)} replies pick nothing that can be read "
            f"and count as empty ({kinds}); they are listed in the JSON"
        )
