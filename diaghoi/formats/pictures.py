"""Find the images of a data set by name, read and write them, and show them to a model.

To corrupt images, complete files are read and written, with type, orientation and colour profile.
Pages and figures show scaled-down images. A message to a model contains the image itself as a data
URL; locations are given as numbers in the text, not drawn into the image.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.checks import shown
from diaghoi.formats.output import replacing
from diaghoi.language.answers import AnswerFile
from diaghoi.language.asking import LETTERS_PER_TOKEN, Client, ask_all

SUFFIXES = (".jpg", ".jpeg", ".png")
_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png"}
# Picture types that can be shown. Pillow reads some other types with external programs; the rest
# are not photographs.
_SHOWN = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_GREY = ("1", "L", "LA")
_COLOUR = ("RGB", "RGBA", "RGBX", "P", "PA", "CMYK", "YCbCr", "LAB", "HSV")
ORIENTATION = 0x0112
"""The EXIF tag for the rotation with which viewers show a picture."""
# Longest side in pixels that OpenCV can remap with 16-bit coordinates.
_LONGEST = 32766
# High quality without chroma subsampling, so that JPEG compression adds almost nothing to the
# corruption.
_JPEG_OPTIONS = {"quality": 95, "subsampling": 0}

_COCO = re.compile(r"COCO_[a-z]+\d+_(\d{12})\.jpg")
_SPLITS = ("val2014", "train2014", "test2014")
# Relative difference in aspect ratio at which shapes count as different.
_OFF = 0.02
MISSING, DAMAGED, UNSAFE, RESHAPED = "missing", "damaged", "unsafe", "reshaped"

Size = tuple[int, int]
Box = tuple[float, float, float, float]
Unit = Literal["pixels", "thousandths"]
UNITS: tuple[str, ...] = get_args(Unit)
_THOUSAND = 1000
# Pixels per token: one patch of Qwen2.5-VL. Other models need between half and twice as many tokens
# per image.
_PIXELS_PER_TOKEN = 28 * 28
# Pixels by which boxes may extend past the image, because annotations are not exact.
_SLACK = 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class PictureFile:
    """An image with the metadata of its file.

    Parameters
    ----------
    image : (H, W) or (H, W, 3) uint8 array
        As stored, not rotated by the EXIF orientation.
    kind : {"JPEG", "PNG"}
        The type of the content, whatever the file's suffix.
    orientation : int or None
        Value of the EXIF tag, 1 to 8; None if it is missing or invalid.
    profile : bytes or None
        The colour profile if it matches the channels of ``image``.
    """

    image: npt.NDArray[np.uint8]
    kind: str
    orientation: int | None
    profile: bytes | None


@contextmanager
def _opened(path: Path, types: tuple[str, ...]) -> Iterator[Any]:
    """Open an image; whatever Pillow raises for a damaged file becomes an ``InputError``.

    Pillow's warnings about harmless flaws, such as odd EXIF entries, are ignored.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=types) as picture:
                yield picture
    except InputError:
        raise
    except UnidentifiedImageError:
        raise InputError(f"is neither {' nor '.join(types)}") from None
    except Exception as error:
        text = str(error).replace(repr(str(path)), "the file").replace(str(path), "the file")
        raise InputError((" ".join(text.split()) or type(error).__name__)[:160]) from None


def read_picture(path: Path) -> PictureFile:
    """Read a JPEG or PNG file.

    Grey images stay grey; palettes and CMYK become RGB; transparency is removed, and 16-bit colours
    keep their upper eight bits, as in detectors.

    Raises
    ------
    InputError
        If the file is damaged, is not JPEG or PNG, is grey with more than 8 bits, or is so large
        that it may be a decompression bomb. The caller adds the file name to the message.
    """
    with _opened(path, tuple(_TYPES)) as picture:
        picture.load()
        mode, size = picture.mode, f"{picture.width} x {picture.height} pixels"
        if mode not in _GREY + _COLOUR:
            raise InputError(f"has pixels of the kind '{mode}', not of 8 bits per channel")
        if max(picture.size) > _LONGEST:
            raise InputError(f"is {size}, more than {_LONGEST} per side")
        try:
            orientation = picture.getexif().get(ORIENTATION)
        except Exception:  # a damaged header, which viewers also ignore
            orientation = None
        turned = isinstance(orientation, int) and orientation in range(1, 9)
        return PictureFile(
            image=np.asarray(picture.convert("L" if mode in _GREY else "RGB")),
            # Multi-picture files of some cameras (MPO) start with a JPEG image.
            kind="PNG" if picture.format == "PNG" else "JPEG",
            orientation=orientation if turned else None,
            profile=None if mode == "CMYK" else picture.info.get("icc_profile"),
        )


def picture_size(path: Path | None, types: tuple[str, ...] = tuple(_TYPES)) -> Size | None:
    """Return width and height from the header of a file; None if the file is not a picture."""
    if path is None:
        return None
    try:
        with _opened(path, types) as picture:
            return int(picture.width), int(picture.height)
    except InputError:
        return None


def write_picture(path: Path, picture: PictureFile) -> None:
    """Write a picture atomically; JPEG files have quality 95 and no chroma subsampling."""
    from PIL import Image

    options: dict[str, Any] = dict(_JPEG_OPTIONS) if picture.kind == "JPEG" else {}
    if picture.profile:
        options["icc_profile"] = picture.profile
    if picture.orientation is not None:
        options["exif"] = Image.Exif()
        options["exif"][ORIENTATION] = picture.orientation
    with replacing(path) as temporary:
        Image.fromarray(picture.image).save(temporary, format=picture.kind, **options)


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """The picture of an image, or the reason why there is none.

    Parameters
    ----------
    image : (H, W, 3) uint8 array or None
        RGB pixels, scaled down if the picture is large; None if no picture can be shown.
    problem : {"", "missing", "damaged", "unsafe", "reshaped"}
        Empty if there is no problem. "unsafe" names could lead out of the folder; a "reshaped"
        picture is still shown, although its aspect ratio differs from that of the annotated size.
    reason : str
        The problem as a phrase, such as ``not in images``.
    """

    image: npt.NDArray[np.uint8] | None
    problem: str = ""
    reason: str = ""


class Pictures:
    """The pictures in a folder.

    Parameters
    ----------
    folder : pathlib.Path
        The folder; an ``InputError`` is raised if it does not exist.
    longest : int
        Maximum length of the longer side in pixels; larger pictures are scaled down.
    """

    def __init__(self, folder: Path, longest: int = 1300) -> None:
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "no such folder"
            raise InputError(f"{folder}: {what}; give the folder with the pictures")
        self.folder, self.longest = folder, longest

    def find(self, name: str) -> Path | None:
        """Find the file of an image; None if there is none.

        The candidates are the name itself, the name without its folders, COCO's file names (if
        images are named by number, as in V-COCO), and the name with the usual suffixes.
        """
        for candidate in () if leads_outside(name) else _candidates(name):
            try:
                if (self.folder / candidate).is_file():
                    return self.folder / candidate
            except (OSError, ValueError):
                continue  # too long or otherwise invalid as a file name
        return None

    def size(self, name: str) -> Size | None:
        """Return the width and height of an image; None if the picture cannot be read."""
        return picture_size(self.find(name), _SHOWN)

    def read(self, name: str, size: Size | None = None) -> Picture:
        """Read the picture of an image; ``size`` is its annotated width and height."""
        from PIL import ImageOps

        if not name:
            return Picture(image=None, problem=MISSING, reason="the image has no name")
        if leads_outside(name):
            reason = "the name leads out of the folder"
            return Picture(image=None, problem=UNSAFE, reason=reason)
        path = self.find(name)
        if path is None:
            return Picture(image=None, problem=MISSING, reason=f"not in {self.folder}")
        try:
            with _opened(path, _SHOWN) as picture:
                if size is not None and picture.size == size[::-1] != size:
                    # The annotated size is that of the displayed picture, after the EXIF rotation.
                    picture = ImageOps.exif_transpose(picture)
                width, height = picture.size
                picture.draft("RGB", (self.longest, self.longest))
                picture = picture.convert("RGB")
                picture.thumbnail((self.longest, self.longest))
                image = np.asarray(picture)
        except InputError as error:
            reason = f"cannot be read ({str(error)[:80]})"
            return Picture(image=None, problem=DAMAGED, reason=reason)
        if size is None or abs(width * size[1] / (height * size[0]) - 1) <= _OFF:
            return Picture(image=image)
        reason = f"is {width} x {height} pixels and annotated as {size[0]} x {size[1]}"
        return Picture(image=image, problem=RESHAPED, reason=reason)


def leads_outside(name: str) -> bool:
    """Check whether a name is empty or could refer to a file outside the folder, on any system."""
    paths = (PurePosixPath(name), PureWindowsPath(name))
    return (
        not name.strip() or "\0" in name or any(path.anchor or ".." in path.parts for path in paths)
    )


def _candidates(name: str) -> Iterator[str]:
    """Yield the possible file names of an image."""
    for file in dict.fromkeys((name, PurePosixPath(name).name)):
        yield file
        coco = _COCO.fullmatch(file)
        number = coco[1] if coco else file
        if number.isascii() and number.isdecimal():
            digits = number.zfill(12)
            yield from (f"COCO_{split}_{digits}.jpg" for split in _SPLITS)
            yield f"{digits}.jpg"
        yield from (f"{file}{suffix}" for suffix in SUFFIXES)


class SentPicture(NamedTuple):
    """A picture for a message, as a URL ``data:image/jpeg;base64,...``, with its pixel size."""

    url: str
    width: int
    height: int


Find = Callable[[str], Path | None]
"""A function that returns the file of an image, given the image name, or None if no file exists."""


def sent_picture(find: Find, image: str) -> SentPicture:
    """Read the picture of an image (JPEG or PNG) for a message.

    The file is sent unchanged. However, a picture with an EXIF rotation is encoded again without
    EXIF data: boxes refer to the stored pixels, and only some servers apply the rotation.

    Raises
    ------
    InputError
        If the picture is missing or damaged, or is not JPEG or PNG. The caller adds the image name
        to the message.
    """
    path = find(image)
    if path is None:
        raise InputError("not in the folder")
    file = read_picture(path)
    data, kind = path.read_bytes(), file.kind
    if file.orientation not in (None, 1):
        from PIL import Image

        buffer = io.BytesIO()
        Image.fromarray(file.image).save(buffer, "PNG")
        data, kind = buffer.getvalue(), "PNG"
    height, width = file.image.shape[:2]
    text = base64.b64encode(data).decode("ascii")
    return SentPicture(url=f"data:{_TYPES[kind]};base64,{text}", width=width, height=height)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Coordinates of locations in a picture.

    Parameters
    ----------
    width, height : int
        Size of the picture in pixels.
    unit : {"pixels", "thousandths"}
        Unit of the coordinates: pixels, or thousandths of width and height, as some models were
        trained to use.
    """

    width: int
    height: int
    unit: Unit = "pixels"

    @property
    def words(self) -> str:
        """Describe the coordinates of boxes for a model."""
        numbers = f"in pixels of the picture, which is {self.width} wide and {self.height} high"
        if self.unit == "thousandths":
            numbers = "in thousandths of the width and height of the picture"
        return f"[left, top, right, bottom] {numbers}, counted from its upper left corner"

    def written(self, box: Box) -> str:
        """Write a pixel box as text, in the unit that the model uses."""
        numbers = (f"{side / scale:.0f}" for side, scale in zip(box, self._scale, strict=True))
        return f"[{', '.join(numbers)}]"

    def read(self, numbers: Sequence[float]) -> Box:
        """Convert four coordinates in the unit of the model to a pixel box."""
        left, top, right, bottom = (
            n * scale for n, scale in zip(numbers, self._scale, strict=True)
        )
        return left, top, right, bottom

    def holds(self, box: Box) -> bool:
        """Check whether a pixel box lies within the picture, with a small tolerance."""
        left, top, right, bottom = box
        far = right > self.width + _SLACK or bottom > self.height + _SLACK
        return not far and min(left, top) >= -_SLACK

    @property
    def _scale(self) -> tuple[float, ...]:
        if self.unit == "pixels":
            return (1.0,) * 4
        return (self.width / _THOUSAND, self.height / _THOUSAND) * 2


def message(url: str, text: str) -> list[dict[str, Any]]:
    """Combine a picture and a text into messages for OpenAI's chat completions."""
    picture = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "user", "content": [picture, {"type": "text", "text": text}]}]


class ImageQuestions(NamedTuple):
    """The questions about one image, whose picture is loaded only once."""

    image: str
    questions: tuple[Any, ...]


class Unasked(NamedTuple):
    """The images without answers, each with the reason.

    Parameters
    ----------
    problems : tuple of (image, why)
        Pictures that are missing or unreadable, about which nothing was asked.
    unanswered : tuple of (image, why)
        Images without a reply; the next run asks about them again.
    """

    problems: tuple[tuple[str, str], ...]
    unanswered: tuple[tuple[str, str], ...]


@dataclass(kw_only=True)
class PictureAsker:
    """A runner that asks a model about pictures.

    Parameters
    ----------
    client : Client
        The model.
    find : callable
        A function as described in :data:`Find`.
    unit : {"pixels", "thousandths"}
        Coordinates of boxes.
    workers : int
        Concurrent requests.
    progress : callable
        Called with the number of completed questions.
    """

    client: Client
    find: Find
    unit: Unit = "pixels"
    workers: int = 8
    progress: Callable[[int], Any] = field(default=lambda questions: None)

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.client.endpoint.model

    def ask_images(self, groups: Sequence[ImageQuestions], *, proven: bool) -> Unasked:
        """Ask all questions about some images.

        Parameters
        ----------
        groups : sequence of ImageQuestions
            The questions.
        proven : bool
            Whether the model has already answered a question in an earlier run.

        Raises
        ------
        InputError
            If no picture exists and the model has never answered, or if every further request would
            fail.
        """
        images = [group.image for group in groups]
        if images and not proven and not any(self.find(name) is not None for name in images):
            raise InputError(
                f"--images: contains none of the {len(images)} pictures to ask about, such as "
                f"{images[0]!r}; give the folder that contains the pictures"
            )

        def ask(group: ImageQuestions) -> str:
            try:
                picture = sent_picture(self.find, group.image)
            except InputError as error:
                return str(error)
            frame = Frame(width=picture.width, height=picture.height, unit=self.unit)
            self.work(group, picture.url, frame)
            return ""

        done: list[tuple[str, str, str]] = []
        for outcome in ask_all(ask, groups, self.client, workers=self.workers, proven=proven):
            self.progress(len(outcome.tag.questions))
            done.append((outcome.tag.image, outcome.failure, outcome.value or ""))
        done.sort()
        return Unasked(
            problems=tuple((image, problem) for image, _, problem in done if problem),
            unanswered=tuple((image, failure) for image, failure, _ in done if failure),
        )

    def work(self, group: ImageQuestions, url: str, frame: Frame) -> None:
        """Ask the questions about one image, and keep the answers; called in a thread."""
        raise NotImplementedError


class Estimate(NamedTuple):
    """Upper bounds of a run's cost; tokens for reasoning are not counted.

    ``outside`` lists the images with a box outside the picture.
    """

    questions: int
    requests: int
    tokens_in: int
    tokens_out: int
    outside: tuple[str, ...]


@dataclass(kw_only=True)
class FileAsker(PictureAsker):
    """A runner that asks the questions not yet answered in a file, and adds each answer at once.

    Parameters
    ----------
    answers : AnswerFile
        The file.
    asked : sequence
        The questions of the run; each has an ``image``.
    """

    answers: AnswerFile
    asked: Sequence[Any]

    # Settings that all answers in a file must share, with the option for each setting.
    settings: ClassVar[Mapping[str, str]]
    noun: ClassVar[str]
    # Tokens estimated for the first reply to a question, and for the reply to each further request.
    reply_tokens: ClassVar[tuple[int, int]]
    # Whether the answer file may have only one line for each question.
    once: ClassVar[bool] = False

    @property
    def recorded(self) -> dict[str, Any]:
        """Settings written with each answer, the same for all answers in a file."""
        raise NotImplementedError

    def question_of(self, line: Mapping[str, Any]) -> Any:
        """Return the question answered by a line; None if the run has no such question."""
        raise NotImplementedError

    def boxes_of(self, question: Any) -> Iterable[Box]:
        """Return the boxes shown in a question."""
        raise NotImplementedError

    def texts(self, group: ImageQuestions, frame: Frame) -> list[str]:
        """Return the texts of all requests about an image."""
        raise NotImplementedError

    def outcome(self) -> tuple[dict[str, Any], str, list[str]]:
        """Return a run's additional results, a text on them for the status line, and notes."""
        raise NotImplementedError

    @cached_property
    def before(self) -> frozenset[Any]:
        """The questions that are already answered.

        Raises
        ------
        InputError
            If the answers do not belong to the questions and settings of this run.
        """
        self.answers.check(self.recorded, self.settings)
        answered = set()
        for number, line in enumerate(self.answers.lines, 1):
            question = self.question_of(line)
            where = f"{self.answers.path}: line {number}: image {shown(line['image'])}"
            if question is None:
                raise InputError(
                    f"{where}: answers a question that is not asked here; give another --out"
                )
            if self.once and question in answered:
                raise InputError(
                    f"{where}: is the second answer to the same question; keep only one answer"
                )
            answered.add(question)
        return frozenset(answered)

    @property
    def answered(self) -> int:
        """Number of questions that are now answered."""
        return len(set(self.asked) & set(map(self.question_of, self.answers.lines)))

    @cached_property
    def groups(self) -> tuple[ImageQuestions, ...]:
        """The questions still to be asked, by image.

        Questions that follow the last answered question come first: an earlier question has no
        reply because it failed in an earlier run; it may fail again, and must not delay the others.
        """
        places: dict[str, list[int]] = {}
        last = -1
        for place, question in enumerate(self.asked):
            if question in self.before:
                last = place
            else:
                places.setdefault(question.image, []).append(place)
        groups = sorted(places.items(), key=lambda group: group[1][0] < last)
        return tuple(
            ImageQuestions(image=image, questions=tuple(self.asked[place] for place in of_image))
            for image, of_image in groups
        )

    def estimate(self) -> Estimate:
        """Estimate the cost; missing pictures cost nothing."""
        questions, requests, tokens = 0, 0, 0.0
        outside = []
        for group in self.groups:
            size = picture_size(self.find(group.image))
            if size is None:
                continue
            frame = Frame(width=size[0], height=size[1], unit=self.unit)
            if not all(frame.holds(box) for of in group.questions for box in self.boxes_of(of)):
                outside.append(group.image)
            texts = self.texts(group, frame)
            questions += len(group.questions)
            requests += len(texts)
            pixels, letters = len(texts) * size[0] * size[1], sum(map(len, texts))
            tokens += pixels / _PIXELS_PER_TOKEN + letters / LETTERS_PER_TOKEN
        reply, further = self.reply_tokens
        tokens_out = questions * reply + (requests - questions) * further
        return Estimate(questions, requests, round(tokens), tokens_out, tuple(outside))

    def remarks(self, cost: Estimate) -> list[str]:
        """Return what the user should know before any question is asked, one sentence per item."""
        if not cost.outside:
            return []
        return [
            f"some boxes in the questions lie outside their pictures, in {len(cost.outside)} of "
            f"the pictures: {some_of(cost.outside)}; check that the pictures are those that were "
            "annotated"
        ]

    def run(self) -> Unasked:
        """Ask the remaining questions.

        Raises
        ------
        InputError
            If no picture exists, the server does not reply or refuses, or nothing can be written.
            Earlier answers are kept.
        """
        self.answers.repair()
        return self.ask_images(self.groups, proven=bool(self.before))
