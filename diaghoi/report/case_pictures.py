"""Draw cases on the pictures in a folder, for galleries and report pages."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

from diaghoi.cases.cases import Case
from diaghoi.exceptions import some_of
from diaghoi.formats.pictures import DAMAGED, MISSING, RESHAPED, UNSAFE, Picture, Pictures
from diaghoi.report.pages import jpeg_url

PIXELS, INCHES = 640, 3.25
"""Width of the widest picture on a page, in pixels and in inches; the inches set the text size."""
QUALITY = 82
# Text in an empty frame; the notes and the page give the details.
EMPTY = {MISSING: "no picture", UNSAFE: "no picture", DAMAGED: "picture damaged"}


class CasePicture(NamedTuple):
    """A case drawn over its picture, for a page.

    Parameters
    ----------
    url : str
        The drawing, as a data URL.
    width, height : int
        Size of the drawing in pixels.
    alt : str
        Description of the picture for readers who cannot see it.
    line : str
        Name of the image, the problem with its picture, and the magnification.
    """

    url: str
    width: int
    height: int
    alt: str
    line: str


class FoundPictures:
    """Reader of pictures that records which pictures have problems.

    Parameters
    ----------
    pictures : Pictures
        The pictures of the images.
    """

    def __init__(self, pictures: Pictures) -> None:
        self.pictures = pictures
        self._found: dict[str, Picture] = {}

    def read(self, image: str, size: tuple[int, int] | None) -> Picture:
        """Read the picture of an image, given its width and height if known."""
        picture = self._found[image] = self.pictures.read(image, size)
        return picture

    @property
    def notes(self) -> list[str]:
        """Describe the pictures with problems."""
        folder, found = self.pictures.folder, self._found
        by_problem: dict[str, list[str]] = {}
        for name, picture in found.items():
            by_problem.setdefault(picture.problem, []).append(name)
        notes = []
        if MISSING in by_problem:
            missing = by_problem[MISSING]
            notes.append(
                f"{len(missing)} of {len(found)} pictures are not in {folder}"
                f"{'' if len(missing) < len(found) else ' (is it the right folder?)'}; their boxes "
                f"are drawn in empty frames: {some_of([name or 'no name' for name in missing])}"
            )
        if UNSAFE in by_problem:
            notes.append(
                f"names that lead out of {folder} are not searched for: "
                f"{some_of(by_problem[UNSAFE])}"
            )
        for problem in (DAMAGED, RESHAPED):
            names = by_problem.get(problem, [])
            problems = [f"{name} {found[name].reason}" for name in names]
            notes += [some_of(problems)] if problems else []
        return notes


class CasePictures(FoundPictures):
    """Drawings of cases on their pictures.

    Parameters
    ----------
    pictures : Pictures
        The pictures of the images.
    pixels, inches : float
        Width of drawings. The smaller the width in inches, the larger the text and lines.
    """

    def __init__(
        self, pictures: Pictures, *, pixels: float = PIXELS, inches: float = INCHES
    ) -> None:
        super().__init__(pictures)
        self.inches, self.dots = inches, pixels / inches

    def draw(self, case: Case) -> CasePicture:
        """Draw a case over its picture, as a JPEG for a page."""
        from diaghoi.plots.boxes import enlargement
        from diaghoi.plots.figures.picture import card, enlarged_words

        picture = self.read(case.image, case.size)
        figure = card(
            case, picture.image, missing=words_for(picture), width=self.inches, words=False
        )
        stream = BytesIO()
        figure.savefig(stream, format="jpeg", dpi=self.dots, pil_kwargs={"quality": QUALITY})
        width, height = (int(side * self.dots) for side in figure.get_size_inches())
        what = "missed" if case.name is None else "predicted"
        line = case.image
        if picture.problem:
            line = f"{case.image or 'no name'}: {picture.reason}"
        enlarged = enlarged_words(enlargement(case, picture.image))
        return CasePicture(
            url=jpeg_url(stream.getvalue()),
            width=width,
            height=height,
            alt=f"{what} {case.name or case.annotated} in {case.image}",
            line=". ".join(filter(None, (line, enlarged))),
        )


def words_for(picture: Picture) -> str:
    """Explain briefly why a frame is empty, so that the text covers little of the boxes."""
    return EMPTY[picture.problem] if picture.image is None else ""
