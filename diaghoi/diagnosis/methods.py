"""Methods of a diagnosis that other rooms work for: files, intervals and figures.

Rooms import only rooms below them, and intervals and figures are made above this one. So a method
here looks its work up in :data:`WORK`, which the public face of the package, :mod:`diaghoi`, fills:
it is above all rooms, and importing any of them imports it first.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing_extensions import Self

WORK: dict[str, Callable[..., Any]] = {}
"""The function behind each method, by its name."""


class DiagnosisMethods:
    """What :class:`diaghoi.Diagnosis` does through other rooms."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the diagnosis to a file from which :meth:`load` makes it again.

        The file holds the annotations, the predictions and the protocol, without pickles. All
        figures can be drawn from it, unlike from the JSON of :meth:`to_dict`, and
        ``diaghoi compare`` and ``diaghoi figures`` read it.

        Parameters
        ----------
        path : path
            The file, usually ``.npz``; it appears complete or not at all.

        Raises
        ------
        InputError
            Where the diagnosis does not hold its annotations and predictions (``scenes``), or the
            file cannot be written.
        """
        WORK["save"](self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], dataset: Any = None) -> Self:
        """Read a saved diagnosis: its predictions are diagnosed again, which takes seconds.

        Parameters
        ----------
        path : path
            What :meth:`save` wrote.
        dataset : str or Vocabulary, optional
            The ``.toml`` file that describes the data set, unless the package knows it.

        Returns
        -------
        Diagnosis
            With the figures of the one that was saved.

        Raises
        ------
        InputError
            For any other file, a damaged one, or one of an unknown data set.
        """
        loaded: Self = WORK["load"](path, dataset)
        return loaded

    def bootstrap(self, resamples: int = 1000, **settings: Any) -> Any:
        """Compute intervals of all figures: :func:`diaghoi.statistics.bootstrap.bootstrap`.

        Parameters
        ----------
        resamples : int
            How many times the images are drawn.
        **settings
            ``seed``, ``confidence``, ``method`` and ``progress`` of that function.

        Returns
        -------
        diaghoi.statistics.bootstrap.Bootstrap
            With ``intervals`` by the path of each figure, such as ``map.full``.
        """
        return WORK["bootstrap"](self, resamples, **settings)

    def shortcuts(self, annotations: Any = None) -> Any:
        """Hold the detector against priors of its verbs.

        See :func:`diaghoi.diagnosis.shortcuts.shortcuts`.

        Parameters
        ----------
        annotations : Scenes, optional
            What the priors are counted from, usually the training set; by default the annotations
            of the diagnosis, for each image without its own.

        Returns
        -------
        diaghoi.diagnosis.shortcuts.Shortcuts
            With the mAP of each prior and what the detector has above it.
        """
        return WORK["shortcuts"](self, annotations)

    def operating_points(self) -> Any:
        """Compute precision, recall, F1 and errors over the score threshold.

        See :func:`diaghoi.statistics.operating_points.operating_points`.

        Returns
        -------
        diaghoi.statistics.operating_points.OperatingPoints
            With the threshold of best F1.
        """
        return WORK["operating_points"](self)

    def plot(self, figure: str = "delta_map", ax: Any = None, **settings: Any) -> Any:
        """Draw a figure: the function of that name in :mod:`diaghoi.plots`.

        Parameters
        ----------
        figure : str
            ``delta_map``, ``waterfall`` and so on; an unknown name lists all.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        **settings
            Further parameters of the function.

        Returns
        -------
        matplotlib.axes.Axes
            Nothing is shown or saved; see :func:`diaghoi.plots.save`.
        """
        return WORK["plot"](self, figure, ax, **settings)

    def to_frame(self, of: Literal["classes", "images", "errors", "cases"] = "classes") -> Any:
        """Return a table as a data frame of pandas.

        Parameters
        ----------
        of : {"classes", "images", "errors", "cases"}
            A row per HOI class or per image, with the columns of :attr:`classes` or
            :attr:`images`; per error, with its number and ΔmAP of each split; or per error of a
            single prediction and per missed triplet, the 100 that are worth looking at first of
            each kind (:func:`diaghoi.cases.cases.worst_cases`).

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InputError
            Where pandas is not installed, for another table, or for cases of a diagnosis that does
            not hold its annotations and predictions.
        """
        return WORK["to_frame"](self, of)
