"""Read a model's answers to questions: its replies, or chosen options.

JSON lines (or one JSON list) of ``{"image": NAME, "question": "QA_0", "options": [...], "reply":
"A,C"}`` with the options in the order shown to the model, or of ``{"image": NAME, "question":
"QA_0", "chosen": [...]}`` with the texts of the options. ``question`` may be omitted if the image
has only one question. The layout of the published scorer, ``{"NAME": {"QA_0": [texts]}}``, is also
read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

from diaghoi.choice.questions import (
    FIRST,
    MOST_OPTIONS,
    Question,
    Questions,
    entry,
    json_rows,
    load_if_json,
    texts_in,
)
from diaghoi.choice.replies import UNREAD, read_reply, same_text
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import shown
from diaghoi.formats.content import Content, load

# Fillers that evaluators add to questions with fewer than four options; picking one picks nothing.
FILLERS = ("None", "None of the above", "None of these")
MISSING, CHOSEN = "missing", "chosen"
REPLIES = "replies"
"""Origin of answers given by a model."""
# Keys of a JSON line of answers.
KEYS = {"image", "question", "options", "reply", "chosen"}


class Answer(NamedTuple):
    """The answer to one question.

    Parameters
    ----------
    picked, shown : tuple of str
        The picked options, each once, in the order of the question; and, if known, the options in
        displayed order, with empty texts for fillers.
    places : tuple of int
        Indices of the picked options among the displayed options.
    how, reply : str
        Form of the answer, as in :class:`diaghoi.choice.replies.ParsedReply`, or ``chosen``,
        ``detected`` or ``missing``; and the text that the model wrote.
    """

    picked: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    how: str = MISSING
    reply: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Answers of one model to all questions.

    Parameters
    ----------
    label : str
        Name of the model.
    questions, answers : Questions, tuple of Answer
        The questions, and an answer to each, in order.
    notes : tuple of str
        Remarks on the numbers.
    how, where : str
        Origin of the answers: :data:`REPLIES`, or how the triplets of a detector were selected and
        where in the image they count.
    """

    label: str
    questions: Questions
    answers: tuple[Answer, ...]
    notes: tuple[str, ...] = ()
    how: str = REPLIES
    where: str = ""

    @property
    def unread(self) -> list[dict[str, str]]:
        """Replies that count as empty because they contain no readable choice."""
        return [
            {
                "image": question.image,
                "question": question.name,
                "reason": answer.how,
                "reply": answer.reply,
            }
            for question, answer in self.pairs
            if answer.how in UNREAD
        ]

    @property
    def ways(self) -> dict[str, int]:
        """Number of questions by kind of answer."""
        return dict(Counter(answer.how for answer in self.answers).most_common())

    @property
    def pairs(self) -> Iterator[tuple[Question, Answer]]:
        """Pair each question with its answer."""
        return zip(self.questions.questions, self.answers, strict=True)


def load_answers(path: str | PathLike[str]) -> Content | None:
    """Load a file of answers; None for other content, such as predictions."""
    content = load_if_json(path)
    if content is None:
        return None
    value = content.value
    if _is_published(value):
        named = next(iter(value.values()), None)
        answers = isinstance(named, dict) and isinstance(next(iter(named.values()), None), list)
    else:
        line = value if isinstance(value, dict) else content.first
        answers = "image" in line and not {"options", "reply", "chosen"}.isdisjoint(line)
    return content if answers else None


def _is_published(value: Any) -> bool:
    """Check whether a value has the published layout, whose keys are images, not keys of lines."""
    return isinstance(value, dict) and all(isinstance(value[k], dict) for k in KEYS & value.keys())


def read_answers(
    source: str | PathLike[str] | Content, questions: Questions, *, label: str | None = None
) -> Answers:
    """Read the answers of a model.

    Parameters
    ----------
    source : path or Content
        A file in one of the layouts of this module, possibly already loaded.
    questions : Questions
        The questions.
    label : str, optional
        Name of the model; by default the file name.

    Returns
    -------
    Answers
        Answers; unanswered questions and unreadable replies pick nothing.

    Raises
    ------
    InputError
        If the file has no answers to these questions, a question is answered twice, or options do
        not belong to the question.
    """
    content = source if isinstance(source, Content) else load(source)
    answers: dict[int, Answer] = {}
    first_line: dict[int, str] = {}
    unasked: list[str] = []
    unknown: list[str] = []
    for where, line in _lines(content):
        image, name = _asked(where, line, questions)
        place = questions.index_of.get((image, name))
        if place is None:
            unasked.append(f"{image} {name}")
        elif place in answers:
            raise InputError(
                f"{where}: image {image!r}: {name} is already answered, at {first_line[place]}; "
                "keep one of the two"
            )
        else:
            first_line[place] = where.removeprefix(f"{content.file}: ")
            answers[place] = _answer(where, line, questions.questions[place], unknown)
    if not answers:
        raise InputError(
            f"{content.file}: answers none of the {len(questions)} questions of {questions.file}"
            + (f"; the first answer in the file is for {unasked[0]}" if unasked else "")
            + "; give the answers to these questions"
        )
    return Answers(
        label=content.path.stem if label is None else label,
        questions=questions,
        answers=tuple(answers.get(place, Answer()) for place in range(len(questions))),
        notes=tuple(_notes(content.file, questions, answers, unasked, unknown)),
    )


def _lines(content: Content) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the answers of a file, each with its location in the file."""
    value, file = content.value, content.file
    if content.container != "json":
        raise InputError(f"{file}: holds no answers; give JSON lines with image and reply")
    if not _is_published(value):
        yield from json_rows(content)
        return
    for image, named in value.items():
        where = f"{file}: image {image!r}"
        if not isinstance(named, dict):
            raise InputError(f"{where}: {shown(named)}; give {{{FIRST!r}: [chosen options]}}")
        for name, chosen in named.items():
            if not name.endswith("_reasoning"):  # explanations in files of the published scorer
                yield f"{where}: {name}", {"image": image, "question": name, "chosen": chosen}


def _asked(where: str, line: Mapping[str, Any], questions: Questions) -> tuple[str, str]:
    """Find the question that a line answers, by image and name."""
    image, name = entry(where, line, "image"), line.get("question")
    for key, value in (("image", image), ("question", name)):
        if not isinstance(value, str | None):
            raise InputError(f"{where}: {key}: {shown(value)}; give a name")
    if name is None and {(image, FIRST), (image, "QA_1")} <= questions.index_of.keys():
        raise InputError(
            f"{where}: question: missing; image {image!r} has several: say which, {FIRST!r} or "
            "another"
        )
    return image, name or FIRST


def _answer(where: str, line: Mapping[str, Any], question: Question, unknown: list[str]) -> Answer:
    """Read one answer; chosen texts that are not options are added to ``unknown``."""
    if "chosen" in line:
        texts = texts_in(f"{where}: chosen", line["chosen"])
        chosen = {text: _option(text, question) for text in texts}
        unknown += [shown(text) for text, option in chosen.items() if option is None]
        return Answer(picked=in_order(question, chosen.values()), how=CHOSEN)
    reply = entry(where, line, "reply", empty=True)
    options = _shown(where, line, question)
    if not isinstance(reply, str | None):
        raise InputError(f"{where}: reply: {shown(reply)} is not text; give what the model wrote")
    reading = read_reply(reply or "", [option or FILLERS[0] for option in options])
    return Answer(
        picked=in_order(question, [options[place] for place in reading.picked]),
        shown=options,
        places=reading.picked,
        how=reading.how,
        reply=reply or "",
    )


def in_order(question: Question, picked: Collection[str | None]) -> tuple[str, ...]:
    """Return the picked options of a question, each once, in question order."""
    return tuple(option for option in dict.fromkeys(question.options) if option in picked)


def _shown(where: str, line: Mapping[str, Any], question: Question) -> tuple[str, ...]:
    """Return the options in displayed order, as spelled in the question; fillers become empty."""
    texts = texts_in(f"{where}: options", entry(where, line, "options"))
    # The common case needs no comparison of spellings.
    if Counter(texts) == Counter(question.options):
        return texts
    options = [_option(text, question) for text in texts]
    if None in options:
        text = texts[options.index(None)]
        raise InputError(
            f"{where}: options: {shown(text)} is not an option of {question.where}"
            f"{close_matches(text, question.options)}; these are {some_of(question.options)}"
        )
    if len(options) > MOST_OPTIONS or not set(question.options).issubset(options):
        raise InputError(
            f"{where}: options: a list of {len(options)}; give all that the model saw, at most "
            f"{MOST_OPTIONS}; {question.where} has the options {some_of(question.options)}"
        )
    return tuple(option or "" for option in options)


def _option(text: str, question: Question) -> str | None:
    """Find the option denoted by a text: empty for a filler, None for any other text."""
    if text in question.options:
        return text
    same = (option for option in question.options if same_text(text, option))
    return next(same, "" if any(same_text(text, filler) for filler in FILLERS) else None)


def _notes(
    file: str,
    questions: Questions,
    answers: Mapping[int, Answer],
    unasked: Sequence[str],
    unknown: Sequence[str],
) -> Iterator[str]:
    """Describe missing and skipped answers, one sentence each."""
    names = [f"{each.image} {each.name}" for each in questions.questions]
    missing = [name for place, name in enumerate(names) if place not in answers]
    for skipped, what in (
        (missing, f"of {len(names)} questions have no answer and count as empty"),
        (unasked, "answers are to other questions and are left out"),
        (unknown, "chosen texts are not options of their question, and are ignored"),
    ):
        if skipped:
            yield f"{file}: {len(skipped)} {what}: {some_of(skipped)}"
    unread = Counter(answer.how for answer in answers.values() if answer.how in UNREAD)
    if unread:
        kinds = ", ".join(f"{number} {how}" for how, number in unread.most_common())
        yield (
            f"{file}: {sum(unread.values())} of {len(answers)} replies have no readable choice "
            f"and count as empty ({kinds}); they are listed in the JSON"
        )
