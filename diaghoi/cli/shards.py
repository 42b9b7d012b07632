"""Predictions in several files, which ``diaghoi report`` takes by a pattern or an address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from diaghoi.cli.engines import EngineOptions
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.progress import Progress
from diaghoi.cli.reading import InputFiles, Inputs
from diaghoi.data.protocol import Protocol
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.formats.locations import is_remote, matching

WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, kw_only=True)
class Shards:
    """Prediction files of different images, and where they are diagnosed.

    Parameters
    ----------
    predictions : str
        A path, a pattern or an address.
    engines : EngineOptions
        Where the work is done.
    """

    predictions: str
    engines: EngineOptions

    @property
    def asked(self) -> bool:
        """Whether there may be several files."""
        return self.engines.asked or is_remote(self.predictions) or self._is_pattern

    @property
    def label(self) -> str:
        """The name of the file, or of the folder of files."""
        path = Path(self.predictions)
        return path.parent.name if self._is_pattern else path.stem

    @property
    def _is_pattern(self) -> bool:
        return not Path(self.predictions).exists() and not WILDCARDS.isdisjoint(self.predictions)

    def check(self, refused: Sequence[str]) -> list[str]:
        """List the files; refuse what can be seen to go wrong before one is read.

        Parameters
        ----------
        refused : sequence of str
            Options that are given and need all boxes in one place.

        Raises
        ------
        InputError
            With the option, or where no file matches.
        """
        self.engines.check()
        if refused:
            raise InputError(
                f"{refused[0]}: needs the boxes of all images, which several files on several "
                "workers do not give; report on one file"
            )
        files = matching(self.predictions)
        if not files:
            raise InputError(f"{self.predictions}: no such file; check the path or the pattern")
        return files

    def diagnose(
        self,
        files: list[str],
        reading: InputFiles,
        made: Callable[[Vocabulary], Protocol],
        also: Callable[[Vocabulary], tuple[Protocol, ...]],
        label: str,
        bar: Progress,
    ) -> tuple[Inputs, Diagnosis]:
        """Diagnose the files.

        Parameters
        ----------
        files : list of str
            As of :meth:`check`.
        reading : InputFiles
            How to read them, and their annotations.
        made, also : callable
            From the data set to the protocol, and to further ones.
        label : str
            Name of the detector.
        bar : Progress
            Shows how many files are done.

        Returns
        -------
        read : Inputs
            The annotations, and images without predictions in the place of the predicted ones.
        diagnosis : Diagnosis
            Of all images.
        """
        from diaghoi.diagnosis.shards import ShardSettings, Truth, diagnose_shards, read_truth

        bar.start("reading annotations")
        located = find_annotations(reading.vocabulary, reading.annotations)
        instances, ids = (None if path is None else str(path) for path in reading.beside[2:])
        annotated = str(located.path.absolute())
        truth = Truth(annotations=annotated, instances=instances, ids=ids, dataset=reading.dataset)
        annotations = read_truth(truth)
        settings = ShardSettings(
            truth=truth,
            reading=reading.of_predictions,
            protocol=made(annotations.vocabulary),
            also=also(annotations.vocabulary),
            label=label,
            force=reading.force,
            shared_only=reading.only_predicted,
        )
        with self.engines.started(bar) as engine:
            bar.start("diagnosing files", total=len(files))
            found = diagnose_shards(settings, files, engine, progress=bar.advance)
        names = found.diagnosis.names
        notes = [*found.warnings, *located.notes]
        read = Inputs(annotations, found.empty.with_names(names), [located.path], notes)
        # What the files hold beside these images was left out file by file.
        return read.only(names) if reading.only_predicted else read, found.diagnosis
