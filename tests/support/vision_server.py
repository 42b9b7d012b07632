"""A model on loopback that looks at pictures: the server of raters with questions about images."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.rater_server import Model, Reply, text

PEOPLE = "people"
_OPTION = re.compile(r"^\(([A-Z])\) (.+)$", re.MULTILINE)


@dataclass
class Vision(Model):
    """A model that sees the pictures of ``folder``, and what it was asked.

    A question counts under the name of its image and its options in alphabetical order, the
    question for people under image and "people".
    """

    rate: Callable[[str, str], object] = lambda a, b: 0
    folder: Path = Path()
    answer: Callable[[str, tuple[str, ...]], object] = lambda image, options: "A"
    people: Callable[[str], object] = lambda image: '{"boxes": []}'
    texts: list[str] = field(default_factory=list)

    def reply(self, request: dict[str, Any], key: str | None) -> tuple[tuple[str, ...], Reply]:
        (message,) = request["messages"]
        picture, question = message["content"]
        image = self._named(picture["image_url"]["url"])
        options = tuple(option for _, option in _OPTION.findall(question["text"]))
        words = (image, *sorted(options)) if options else (image, PEOPLE)
        with self.lock:
            number = self.asked[words]
            self.asked[words] += 1
            self.requests.append(request)
            self.keys.append(key)
            self.texts.append(question["text"])
        done = self.hostile(words, number)
        if done is None or not {"body", "drop"} & done.keys():
            said = self.answer(image, options) if options else self.people(image)
            done = text(said) | (done or {})
        return words, done

    def _named(self, url: str) -> str:
        head, _, data = url.partition(",")
        assert head in ("data:image/jpeg;base64", "data:image/png;base64")
        content = base64.b64decode(data, validate=True)
        return next(
            (path.name for path in sorted(self.folder.iterdir()) if path.read_bytes() == content),
            "another picture",
        )
