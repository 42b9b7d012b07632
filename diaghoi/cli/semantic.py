"""``diaghoi semantic``: soft mAP and mF1, the meaning of errors, and model predictions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diaghoi.cli import options, outputs
from diaghoi.cli.asking import PictureOptions
from diaghoi.cli.compare import TableOptions
from diaghoi.cli.options import (
    COUNTS,
    Key,
    argument,
    flag,
    option,
    options_class,
    with_options,
    without,
)
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import DetectorOptions, ReadingOptions
from diaghoi.cli.similarity import SimilarityOptions
from diaghoi.comparison.semantic import compare_semantic
from diaghoi.comparison.study import StudyModel
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.semantic.diagnosis import SemanticDiagnosis
    from diaghoi.semantic.evaluation import SemanticEvaluation

# Outputs that need scores, because they show the meaning of errors.
OF_ERRORS = (".html", *outputs.FIGURES)
EXAMPLES = ("examples.txt", "examples.csv", "examples.json")
KINDS = (".json", *outputs.TABLES, *OF_ERRORS, "classes.csv", "classes.json", *EXAMPLES)
GAINS = "the N classes that gain most from similarity"
COSTS = "similarity and cost of action and object errors"
ALSO = {
    "diagnose": flag(COSTS),
    "classes": Key(GAINS, options.whole(1, 1_000_000), alone=10, metavar="N"),
}


@options_class
class MeasureOptions:
    """Options for soft mAP and mF1: see :class:`diaghoi.semantic.measure.Measure`."""

    matching: str = option(
        "boxes",
        panel=COUNTS,
        rare=True,
        help="Condition for a match: boxes, or class alone (always used if predictions have no "
        "boxes).",
    )
    theta: float = option(0.5, panel=COUNTS, help="IoU threshold of a correct box.")
    tau: float = option(
        0.5, panel=COUNTS, help="Minimum score rank (0 to 1) or score of predictions in mF1."
    )
    tau_by: str = option("rank", panel=COUNTS, rare=True, help="Meaning of --tau: rank or score.")
    tau_before_map: bool = option(
        False, panel=COUNTS, rare=True, help="Use --tau for soft mAP, too."
    )
    delta: float = option(
        0.5,
        panel=COUNTS,
        rare=True,
        help="Minimum similarity of errors that count against a class.",
    )
    rule: str = option(
        "algorithm",
        panel=COUNTS,
        rare=True,
        help="Classes that an unmatched prediction counts against: algorithm (classes annotated "
        "in its image) or figure (all classes, as in figure 6 of the paper).",
    )
    integrator: str = option(
        "area", panel=COUNTS, rare=True, help="Integration of soft AP: area, trapezoid, 11-point."
    )
    subset: str = option(
        "all",
        panel=COUNTS,
        rare=True,
        help="Images to evaluate: all, or single-hoi (images with a single pair).",
    )


@options_class
class SemanticOptions(outputs.ScreenOptions):
    """Options for the evaluation with similarity, and for outputs."""

    predictions: options.Predictions
    tables: SimilarityOptions
    wordnet: options.WordNet = None
    detector: DetectorOptions = without(DetectorOptions, "pairs")
    measure: MeasureOptions
    no_scores: bool = option(
        False, panel=COUNTS, help="Count every prediction, regardless of its score."
    )
    also: list[str] | None = options.also(ALSO)
    label: options.Label = None
    example_images: int = option(
        20, min=1, max=1000, panel=options.FILES, rare=True, help="Images in examples.txt."
    )

    @property
    def analyses(self) -> dict[str, Any]:
        """The requested additional analyses by name, with their values."""
        return options.keyed("--also", self.also or (), ALSO)

    @property
    def stem(self) -> str:
        """Name of the detector, also used for files in an output folder."""
        return self.predictions.stem if self.label is None else self.label

    def check_errors(self, *, scored: bool, boxed: bool = True) -> None:
        """Reject requests about the meaning of errors if predictions have no scores or boxes.

        Raises
        ------
        InputError
            If an option needs scores or boxes that the predictions lack; the message names the
            option.
        """
        asked = ["--also diagnose"] * ("diagnose" in self.analyses)
        asked += [f"--out {path}" for path in self.out or () if path.suffix.lower() in OF_ERRORS]
        if asked and not scored:
            this = "this or --no-scores" if self.no_scores else "this"
            raise InputError(
                f"{asked[0]}: needs scores to describe the meaning of errors; leave {this} out"
            )
        if asked and not boxed:
            raise InputError(
                f"{asked[0]}: needs boxes to describe the meaning of errors; leave the option out"
            )


@with_options
def semantic(choices: SemanticOptions) -> None:
    """Evaluate with credit for similar classes: soft mAP, mF1 and miss rates.

    Similarity comes from the ratings of this package, or from other tables as in SHOE. `diaghoi
    semantic ask` asks a vision-language model for the predictions.
    """
    from diaghoi.language.lexicon import using_wordnet
    from diaghoi.semantic.diagnosis import semantic_diagnosis
    from diaghoi.semantic.run_evaluation import default_protocol, evaluate

    detector = choices.detector
    choices.check_errors(scored=not choices.no_scores, boxed=choices.measure.matching != "class")
    detector.evaluation.check(detector.named)

    def check(inputs: list[Path | None]) -> None:
        choices.check(KINDS, [*inputs, *choices.tables.files], choices.stem)

    check([choices.predictions, *detector.files])
    with progress(choices.quiet) as bar, using_wordnet(choices.wordnet):
        similarity = choices.tables.read(bar, **vars(choices.measure))
        read = detector.read(choices.predictions, bar, check)
        bar.start("matching", total=len(read.annotations))
        scenes = read.scenes
        usual = replace(read.vocabulary, protocol=default_protocol(scenes[0]))
        evaluated = evaluate(
            *scenes,
            **similarity,
            protocol=detector.evaluation.made(usual),
            scores=not choices.no_scores,
            label=choices.stem,
            progress=bar.advance,
        )
        boxed = evaluated.measure.matching == "boxes"
        choices.check_errors(scored=evaluated.score is not None, boxed=boxed)
        bar.start("adding up")
        result = evaluated.to_dict()
        notes = detector.evaluation.notes(read.vocabulary)
        result["notes"] = [*read.notes, *notes, *result["notes"]]
        meaning = None
        shown = set(OF_ERRORS) & set(choices.output_files(KINDS, choices.stem).values())
        if evaluated.score is not None and boxed and (shown or "diagnose" in choices.analyses):
            bar.start("comparing the meaning of errors")
            meaning = semantic_diagnosis(evaluated)
            result["diagnosis"] = meaning.to_dict()
        bar.start("writing")
        texts = _texts(choices, result, evaluated)
        writers = _writers(result, meaning, [*read.files, *choices.tables.files])
        remarks = choices.write(texts, writers, choices.stem)
    written = choices.output_files([*texts, *writers], choices.stem)
    choices.show(texts, lambda: _show(choices, result), remarks, written)


def _texts(
    choices: SemanticOptions, result: dict[str, Any], evaluated: SemanticEvaluation
) -> dict[str, outputs.Text]:
    """Create the text files; the LaTeX tables are the tables of a comparison with one model."""
    from diaghoi.report.columns import table_text
    from diaghoi.report.examples import examples_text
    from diaghoi.report.semantic import print_semantic
    from diaghoi.semantic.examples import examples_of

    def examples(kind: str) -> str:
        chosen = examples_of(evaluated, images=choices.example_images)
        return examples_text(chosen, Path(kind).suffix)

    number = choices.analyses.get("classes", 0)
    return {
        **TableOptions().texts(compare_semantic([result], [StudyModel(label=choices.stem)])),
        **outputs.as_json(result),
        ".txt": lambda: outputs.plain_text(
            lambda console: print_semantic(result, console, classes=number)
        ),
        **{f"classes.{to}": partial(table_text, evaluated.classes, to) for to in ("csv", "json")},
        **{kind: partial(examples, kind) for kind in EXAMPLES},
    }


def _writers(
    result: dict[str, Any], meaning: SemanticDiagnosis | None, files: list[Path]
) -> dict[str, outputs.Writer]:
    """Create the page and the figures about the meaning of errors."""
    if meaning is None:
        return {}

    def page(path: Path) -> list[str]:
        """Write the page of the report, with the additions of the semantic evaluation."""
        from diaghoi.diagnosis.diagnose import diagnose
        from diaghoi.report.html import write_html

        evaluated = meaning.evaluation
        scenes = evaluated.annotated.scenes, evaluated.predicted.scenes
        diagnosis = diagnose(*scenes, evaluated.protocol, label=evaluated.label)
        report = diagnosis.to_dict()
        report["notes"] = list(dict.fromkeys([*result["notes"], *report["notes"]]))
        report["semantic"] = result
        more: Any = {"result": report, "files": files, "similarities": meaning.similarities()}
        return outputs.noting_letters(lambda: write_html(path, diagnosis, scenes, **more))

    def draw(path: Path) -> list[str]:
        return outputs.draw([result], path, "single", "confusions")

    return {".html": page, **dict.fromkeys(outputs.FIGURES, draw)}


def _show(choices: SemanticOptions, result: dict[str, Any]) -> None:
    from diaghoi.report.semantic import print_screen, print_semantic

    classes = choices.analyses.get("classes", 0)
    left_out = () if "diagnose" in choices.analyses else ("diagnosis",)
    screen = {key: value for key, value in result.items() if key not in left_out}
    choices.present(
        result["notes"],
        partial(print_screen, screen, classes=classes),
        partial(print_semantic, result, classes=classes, notes=False),
    )


@options_class
class AskOptions(PictureOptions):
    """Options for asking about pairs."""

    pairs: Path = argument(
        help="File with the pairs to ask about: predictions, pairs or annotations."
    )
    reading: ReadingOptions = without(ReadingOptions, "force")


@with_options
def ask(choices: AskOptions) -> None:
    """Ask a vision-language model for the verb and the object of each pair of boxes.

    The scores are the probabilities of the words in the reply, if the endpoint returns
    probabilities. Answers are stored as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.formats import read
    from diaghoi.language.answers import AnswerFile
    from diaghoi.semantic.ask import PairAsker, pairs_of

    how = choices.settings([choices.pairs])
    with progress(choices.results.quiet) as bar:
        bar.start("reading pairs")
        _, scenes = read(choices.pairs, **choices.reading.words())
        pairs = pairs_of(scenes)
    with AnswerFile(choices.out) as answers:
        asker = PairAsker(pairs=pairs, asked=pairs[: choices.limit], answers=answers, **how)
        choices.ask(asker, scenes.notes)
