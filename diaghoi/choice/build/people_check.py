"""Whether images show more people than are annotated, as a vision-language model says.

Section 2.3 of the paper (002): images with several annotated people are multi-person, and a model
is asked about those with one. The paper does not print its question.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from diaghoi.choice.build.build import ChoiceBenchmark
from diaghoi.choice.build.candidates import ImageTargets
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.pictures.asking import Find, check_pictures, message, sent_picture
from diaghoi.language.answers import AnswerStore
from diaghoi.language.asking import Client, ask_all, strip_reasoning

VERSION = 1
"""To be increased with the wording, so that saved answers to another wording are not reused."""
KIND = "people"
QUESTION = (
    "Does the picture show more than one person? People in the background and people who are "
    "partly hidden count. Reply with yes or no, and nothing else."
)
_REPLY = re.compile(r"[\W_]*(yes|no)\b", re.IGNORECASE)


@dataclass(kw_only=True)
class PeopleCheck:
    """Asks a model about the images with one annotated person that are not in the store.

    Parameters
    ----------
    client : Client
        The model.
    find : callable
        Returns the file of an image by its name, None where there is none.
    store : AnswerStore
        Where answers are saved.
    workers : int
        Number of parallel requests.
    progress : callable
        Called with the number of images that are done.
    """

    client: Client
    find: Find
    store: AnswerStore
    workers: int = 8
    progress: Callable[[int], Any] = field(default=lambda images: None)

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.client.endpoint.model

    def left(self, image_targets: Sequence[ImageTargets]) -> list[str]:
        """List the images that the model has to be asked about."""
        known = self.store.answers(self.name)
        names = (each.image for each in image_targets if not each.multi_person)
        return [name for name in names if _key(name) not in known]

    def check(self, benchmark: ChoiceBenchmark) -> ChoiceBenchmark:
        """Return a benchmark in which images that show more people are multi-person.

        Images without a valid answer remain as annotated, and are named in the notes.

        Raises
        ------
        InputError
            Where the server does not reply or refuses; its earlier answers stay saved.
        """
        left = self.left(benchmark.image_targets)
        check_pictures(self.find, left, f"that {self.name} is to look at")
        for _ in ask_all(self._ask, left, self.client, workers=self.workers):
            self.progress(1)
        known = self.store.answers(self.name)
        asked = [each.image for each in benchmark.image_targets if not each.multi_person]
        several = {name for name in asked if known.get(_key(name))}
        notes = [
            f"{self.name}: {len(several):,} of {len(asked):,} images with one annotated person "
            "show more"
        ]
        if unknown := [name for name in asked if known.get(_key(name)) is None]:
            notes.append(
                f"{self.name}: says nothing valid about the people in {len(unknown):,} images, "
                f"which count as annotated: {some_of(unknown)}"
            )
        return replace(
            benchmark,
            image_targets=tuple(
                replace(each, multi_person=True) if each.image in several else each
                for each in benchmark.image_targets
            ),
            people_by=f"annotations and {self.name}",
            notes=(*benchmark.notes, *notes),
        )

    def _ask(self, image: str) -> None:
        try:
            picture = sent_picture(self.find, image)
        except InputError:
            return
        reply = self.client.ask(message(picture.url, QUESTION))
        said = _REPLY.match(strip_reasoning(reply))
        score = None if said is None else int(said[1].lower() == "yes")
        self.store.keep(self.name, [(_key(image), KIND, image, "", score, reply)])


def _key(image: str) -> str:
    """Identify a question by all that its answer depends on: 32 hexadecimal digits."""
    identity = json.dumps([KIND, VERSION, image])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]
