"""``diaghoi similarity``: similarity tables of words, and the options that select tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.asking import AskingOptions, estimate_line
from diaghoi.cli.options import MEANING, argument, option, options_class, with_options, without
from diaghoi.cli.progress import Progress, progress
from diaghoi.comparison.study import MADE, Sources, sources_named
from diaghoi.data.table import Table, percent
from diaghoi.exceptions import InputError, number_of, some_of
from diaghoi.formats.description import vocabulary as vocabulary_named

if TYPE_CHECKING:
    from diaghoi.semantic.measure import Measure
    from diaghoi.semantic.tables.rater import RatingResult, RatingTask


SCALE = "Highest possible score [1 or 4, inferred from the scores]."


def similarity_option(default: str | None) -> Any:
    """Declare the option for a source of similarity."""
    return option(
        default,
        panel=MEANING,
        metavar="FILE,FILE|wordnet|own",
        help="Tables of verbs and of objects (CSV a,b,score, or .npz), or Wu-Palmer, or the "
        "ratings of this package [own].",
    )


@options_class
class CombinationOptions:
    """Options that combine verb and object similarities, and set their scale."""

    weight: float = option(
        0.5, panel=MEANING, help="Weight of the verb; the object has 1 minus this weight."
    )
    combine: str = option(
        "arithmetic",
        panel=MEANING,
        help="Mean of verb and object: arithmetic, geometric or minimum.",
    )
    scale: float | None = option(None, panel=MEANING, help=SCALE)

    def __post_init__(self) -> None:
        self.measure()

    def measure(self, **more: Any) -> Measure:
        """Create the measure, with further settings.

        Raises
        ------
        InputError
            If a value is out of range or unknown.
        """
        from diaghoi.semantic.measure import Measure

        combine: Any = self.combine
        return Measure(weight=self.weight, combine=combine, **more)


@options_class
class SimilarityOptions(CombinationOptions):
    """Options for the source of similarity, and for combining verb and object similarities."""

    similarity: str | None = similarity_option(None)
    verb_synsets: Path | None = option(
        None, panel=MEANING, rare=True, help="CSV that maps verbs to their names in the table."
    )
    object_synsets: Path | None = option(
        None, panel=MEANING, rare=True, help="CSV that maps objects to their names in the table."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is not None and isinstance(self.sources[0], str):
            raise InputError("--scale: applies to tables; add --similarity VERBS,OBJECTS")

    @property
    def sources(self) -> Sources:
        """Sources of verb and object similarity."""
        return sources_named("--similarity", self.similarity or MADE[0])

    @property
    def synsets(self) -> dict[str, Path]:
        """Files that map the words of the data set to names in the tables."""
        given = {key: getattr(self, key) for key in ("verb_synsets", "object_synsets")}
        return {key: path for key, path in given.items() if path is not None}

    @property
    def files(self) -> list[Path]:
        """All files named by the user."""
        return [*(each for each in self.sources if isinstance(each, Path)), *self.synsets.values()]

    def read(self, bar: Progress, **more: Any) -> dict[str, Any]:
        """Read the tables, and return keyword arguments for :func:`diaghoi.semantic.evaluate`.

        Raises
        ------
        InputError
            If a table cannot be read, or :meth:`measure` raises an error.
        """
        from diaghoi.semantic.tables.senses import read_tables

        bar.start("reading tables of similarity")
        tables = read_tables(self.sources, self.synsets, self.scale)
        return tables | {"measure": self.measure(**more)}


similarity = typer.Typer(
    no_args_is_help=True, help="Inspect, merge, build and evaluate tables of similarity."
)
KINDS = (".json", ".txt")
LINES = 24  # number of lines on the first screen
WORDS = "words or synsets, one per line, or CSV: name, synset, definition."
RATINGS = "Table: a CSV file with columns a,b,score or one column per rater, or an .npz file."


@options_class
class DescribingOptions(outputs.ScreenOptions):
    """Options for the outputs of a result that consists of tables."""

    def finish(
        self,
        result: Mapping[str, Any],
        tables: Iterable[Table],
        stem: str,
        writers: Mapping[str, outputs.Writer] | None = None,
    ) -> None:
        """Write a result, and print the tables that fit on one screen, or in detail all tables."""
        shown = [*tables]

        def text(number: int) -> str:
            return outputs.plain_text(partial(outputs.show_tables, shown[:number]))

        def screen() -> None:
            most = next((n for n in range(len(shown), 1, -1) if text(n).count("\n") <= LINES), 1)
            outputs.show_tables(shown[:most])
            if most < len(shown):
                typer.echo(f"{number_of('more table', len(shown) - most)}: --detail", err=True)

        everything = partial(outputs.show_tables, shown)
        show = partial(self.present, result["notes"], screen, everything)

        texts = outputs.as_json(result) | {".txt": partial(text, len(shown))}
        self.deliver(texts, show, (), writers, stem)


@options_class
class AgreementOptions(DescribingOptions):
    """Options for comparing raters."""

    ratings: Path | None = argument(
        default=None,
        help="CSV: one item per row and one column per person, or columns annotator and rating.",
    )
    published: Path | None = option(
        None, help="Instead, a CSV of interaction pairs and their levels, to compare tables with."
    )
    similarity: str = similarity_option("own")
    again: Path | None = option(
        None, help="File with the same items, rated again by the same people."
    )
    metric: list[str] | None = option(
        None, help="Column with the scores of a metric; repeatable [score, similarity, shoe, ...]."
    )
    scale: int = option(4, min=1, max=1000, help="Highest number of the rating scale.")
    resamples: int = option(
        10_000, min=1, max=options.MOST_RESAMPLES, help="Permutations of the test."
    )
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0


@similarity.command()
@with_options
def agreement(choices: AgreementOptions) -> None:
    """Measure the agreement of people with each other, and of metrics or tables with people.

    The measures are quadratic weighted kappa, Krippendorff's alpha, agreement as SHOE states it,
    and Spearman's rank correlation of each metric with the mean of the people. A .pdf, .svg or .png
    file shows distributions and kappa.
    """
    import numpy as np

    from diaghoi.report.similarity import agreement_tables
    from diaghoi.semantic.tables.agreement import compare_ratings, measure_agreement
    from diaghoi.semantic.tables.people import read_human_ratings

    if choices.published is not None:
        _compare_with_published(choices, choices.published)
        return
    ratings, again, highest = choices.ratings, choices.again, choices.scale
    if ratings is None:
        raise InputError("no ratings; give a file of ratings, or --published FILE")
    confidence, seed = choices.confidence, choices.seed
    choices.check((*KINDS, *outputs.FIGURES), [ratings, again], "agreement")
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g}: must lie between 0 and 1")
    people = read_human_ratings(ratings, metrics=tuple(choices.metric or ()), highest=highest)
    changes = {}
    if again is not None:
        second = read_human_ratings(again, highest=highest)
        changes["again"] = compare_ratings(people, second, confidence=confidence)
    found = measure_agreement(
        people, np.random.default_rng(seed), resamples=choices.resamples, confidence=confidence
    )
    result = found.to_dict() | {"confidence": confidence, "seed": seed, **changes}

    def draw(path: Path) -> list[str]:
        from diaghoi.plots.figures.answers import agreement_figure

        caption = f"Agreement of people in {result['source']}"
        return outputs.save_figure(partial(agreement_figure, result), path, caption)

    figures = dict.fromkeys(outputs.FIGURES, draw)
    choices.finish(result, agreement_tables(result), "agreement", figures)


def _compare_with_published(choices: AgreementOptions, published: Path) -> None:
    from diaghoi.report.similarity import published_tables
    from diaghoi.semantic.published import agreement_with_published
    from diaghoi.semantic.tables.people import read_human_scores

    sources = sources_named("--similarity", choices.similarity)
    tables = [each for each in sources if isinstance(each, Path)]
    given = set(options.given(choices)) & {"ratings", "again", "metric"}
    if given:
        raise InputError(f"--published: compares tables, not people; leave out {min(given)}")
    choices.check(KINDS, [published, *tables], "published")
    result = agreement_with_published(read_human_scores(published, scale=choices.scale), sources)
    choices.finish(result, published_tables(result), "published")


@options_class
class InspectOptions(DescribingOptions):
    """Options for describing a table."""

    table: Path = argument(help=RATINGS)
    dataset: str = option("hico-det", help="The data set whose words the table should cover.")
    scale: float | None = option(None, help=SCALE)
    synsets: Path | None = option(None, help="CSV that maps words to their names in the table.")


@similarity.command()
@with_options
def inspect(choices: InspectOptions) -> None:
    """Describe a table: coverage, symmetry, diagonal, distribution, raters."""
    from diaghoi.language.words import verb_words
    from diaghoi.report.similarity import table_tables
    from diaghoi.semantic.tables.ratings import read_ratings
    from diaghoi.semantic.tables.similarity import table_facts
    from diaghoi.semantic.tables.words import read_senses

    choices.check(KINDS, [choices.table, choices.synsets], choices.table.stem)
    vocabulary = vocabulary_named(choices.dataset)
    result = table_facts(
        read_ratings(choices.table, scale=choices.scale),
        {
            f"verbs of {vocabulary.name}": verb_words(vocabulary),
            f"objects of {vocabulary.name}": vocabulary.objects,
        },
        None if choices.synsets is None else read_senses(choices.synsets),
    )
    choices.finish(result, table_tables(result), choices.table.stem)


@options_class
class MergeOptions:
    """Options for merging tables."""

    tables: list[Path] = argument(help="Tables to merge.")
    out: Path = option(help="The .csv or .npz file to write.")
    mean: bool = option(False, help="Write only the mean of the raters.")
    scale: float | None = option(None, help=SCALE)
    quiet: options.Quiet = False


@similarity.command()
@with_options
def merge(choices: MergeOptions) -> None:
    """Merge several tables into one table with all raters, and scale scores to [0, 1]."""
    from diaghoi.semantic.tables.ratings import mean_of, merge_ratings, read_ratings, write_ratings

    tables, out = choices.tables, choices.out
    outputs.check_files([out], tables)
    read = [read_ratings(path, scale=choices.scale) for path in tables]
    merged = merge_ratings(read, name=out.stem)
    written = mean_of(merged, "mean") if choices.mean else merged
    write_ratings(out, written)
    if not choices.quiet:
        typer.echo(
            f"{out}: {len(merged.names):,} words, {len(merged.first):,} pairs, "
            f"{len(merged.raters)} raters: {some_of(merged.raters)}"
        )
        outputs.print_notes(merged.notes)


@options_class
class SubsetOptions(DescribingOptions):
    """Options for comparing tables and ratings."""

    table: Path = argument(help=RATINGS)
    human: Path = option(help="Ratings by people: CSV of pairs, one column per person.")
    objects: Path | None = option(None, help="Table of objects, if people compared interactions.")
    combination: CombinationOptions
    human_scale: float | None = option(
        None, help="Highest possible rating by people [1 or 4, inferred from the ratings]."
    )


@similarity.command()
@with_options
def subset(choices: SubsetOptions) -> None:
    """Compare every subset of the raters of a table with ratings by people."""
    from diaghoi.report.similarity import subset_tables
    from diaghoi.semantic.tables.people import read_human_scores
    from diaghoi.semantic.tables.ratings import read_ratings
    from diaghoi.semantic.tables.subsets import rater_subsets

    table, human, objects = choices.table, choices.human, choices.objects
    choices.check(KINDS, [table, human, objects], table.stem)
    scale = choices.combination.scale
    result = rater_subsets(
        read_human_scores(human, scale=choices.human_scale),
        read_ratings(table, scale=scale),
        None if objects is None else read_ratings(objects, scale=scale),
        measure=choices.combination.measure(),
    )
    choices.finish(result, subset_tables(result), table.stem)


@options_class
class BuildOptions:
    """Options for rating words."""

    out: Path = option(
        help="The .csv or .npz file to write; for verbs and objects, two files: NAME_verbs and "
        "NAME_objects."
    )
    verbs: Path | None = option(None, help=f"Verbs: {WORDS}")
    objects: Path | None = option(None, help=f"Objects: {WORDS}")
    verb_candidates: Path | None = option(
        None, help="More verbs, compared only with those of --verbs."
    )
    object_candidates: Path | None = option(
        None, help="More objects, compared only with those of --objects."
    )
    rater: list[str] | None = option(
        None,
        metavar="URL,MODEL[,VARIABLE]",
        help="An OpenAI-compatible endpoint, and the environment variable with its API key "
        "[DIAGHOI_API_KEY]. Further raters rate only pairs that the first rater did not rate 0.",
    )
    baseline: str | None = option(
        None, help="A WordNet measure instead of raters: path or wu-palmer (not part of SHOE)."
    )
    wordnet: options.WordNet = None
    store: Path | None = option(
        None, help="File that stores the answers [the name of --out with .answers.jsonl]."
    )
    asking: AskingOptions = without(AskingOptions, "temperature")
    batch: int = option(1, min=1, max=100, rare=True, help="Pairs per request.")
    check_zeros: int = option(
        0,
        min=0,
        max=1_000_000,
        help="Ask the further raters about N pairs that the first rater rated 0.",
    )
    seed: options.Seed = 0
    output: outputs.OutputOptions = without(outputs.OutputOptions, "out")

    def __post_init__(self) -> None:
        if self.verbs is None and self.objects is None:
            raise InputError("no words to compare; give --verbs FILE, --objects FILE or both")
        if bool(self.rater) == (self.baseline is not None):
            raise InputError("give either --rater URL,MODEL or --baseline path|wu-palmer")
        if self.check_zeros and len(self.rater or []) < 2:
            raise InputError("--check-zeros: asks a second rater; give another --rater")

    @property
    def words(self) -> dict[str, tuple[Path | None, Path | None]]:
        """For each kind, the file of words, and the file of words compared only with the first."""
        given = vars(self)
        return {
            kind: (given[f"{kind}s"], given[f"{kind}_candidates"]) for kind in ("verb", "object")
        }

    @property
    def files(self) -> dict[str, Path]:
        """Output file of each kind of words."""
        kinds = [kind for kind, (given, _) in self.words.items() if given is not None]
        own = (self.out.with_stem(f"{self.out.stem}_{kind}s") for kind in kinds)
        return dict(zip(kinds, own if len(kinds) > 1 else [self.out], strict=True))


@similarity.command()
@with_options
def build(choices: BuildOptions) -> None:
    """Build a similarity table: ask language models, or compute a WordNet baseline.

    Answers are stored as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.semantic.tables.ratings import check_suffix

    check_suffix(choices.out)
    store = choices.store or choices.out.with_suffix(".answers.jsonl")
    inputs = [path for paths in choices.words.values() for path in paths]
    written = [*choices.files.values(), store if choices.rater else None, choices.output.json]
    outputs.check_files(written, inputs)
    questions = _questions(choices)
    if choices.baseline is not None:
        _present(choices, _baseline(choices, choices.baseline, questions))
        return

    from diaghoi.language.asking import read_endpoints
    from diaghoi.semantic.tables.rater import Raters, RatingCost, ZeroSample, estimate

    quiet, asking = choices.output.quiet, choices.asking
    zeros = ZeroSample(number=choices.check_zeros, seed=choices.seed)
    endpoints = read_endpoints(choices.rater or [], "--rater")
    prices = asking.prices(len(endpoints))
    how: Any = {"batch": choices.batch, "zeros": zeros}
    with asking.answer_store(store) as answers:
        names = [each.model for each in endpoints]
        with progress(quiet) as bar:
            bar.start("estimating")
            costs = estimate(questions, names, answers, **how)
        spent = list(map(RatingCost.price, costs, prices)) if prices else [None] * len(costs)
        rows = [asdict(cost) | {"price": price} for cost, price in zip(costs, spent, strict=True)]
        lines = [
            estimate_line(
                f"{cost.rater}: {'at most ' if number else ''}{cost.pairs:,} pairs to rate in "
                f"{cost.requests:,} requests",
                *(cost, "more if a model reasons at length", spent[number]),
            )
            for number, cost in enumerate(costs)
        ]
        if prices:
            lines.append(f"together at most {sum(filter(None, spent)):,.2f}")
        if any(cost.pairs for cost in costs) and not asking.goes_on(lines, quiet):
            return
        raters = Raters(
            clients=[asking.client(each) for each in endpoints],
            store=answers,
            workers=asking.concurrent,
            asks=asking.asks,
            **how,
        )
        with progress(quiet) as bar:
            raters.progress = lambda task, pairs: (
                bar.advance(pairs) if task is None else bar.start(task, pairs)
            )
            rated = [raters.rate(question) for question in questions]
    estimated = {"store": str(store), "raters": rows}
    _present(choices, _written(choices, rated) | {"estimate": estimated})


def _questions(choices: BuildOptions) -> list[RatingTask]:
    from diaghoi.language.lexicon import load_lexicon
    from diaghoi.semantic.tables.rater import RatingTask
    from diaghoi.semantic.tables.words import read_terms

    kind: Any
    questions = []
    for kind, (path, more) in choices.words.items():
        if path is None and more is not None:
            raise InputError(f"--{kind}-candidates: is compared with --{kind}s, which is missing")
        if path is None:
            continue
        pos: Any = "v" if kind == "verb" else "n"
        lexicon = load_lexicon(choices.wordnet)
        terms = read_terms(path, pos, lexicon)
        others = () if more is None else read_terms(more, pos, lexicon)
        known = {term.name for term in terms}
        candidates = tuple(term for term in others if term.name not in known)
        questions.append(RatingTask(kind=kind, terms=terms, candidates=candidates))
    return questions


def _baseline(choices: BuildOptions, method: str, tasks: Sequence[RatingTask]) -> dict[str, Any]:
    from diaghoi.language.lexicon import load_lexicon
    from diaghoi.semantic.tables.baselines import baseline
    from diaghoi.semantic.tables.similarity import write_similarity

    tables = []
    for task in tasks:
        terms = task.terms + task.candidates
        table = baseline(terms, method, load_lexicon(choices.wordnet))
        write_similarity(choices.files[task.kind], table)
        row = {"words": len(terms), "pairs": table.pairs, "name": table.name}
        tables.append(
            {"kind": task.kind, "file": str(choices.files[task.kind])}
            | row
            | {"source": table.source}
        )
    return {"tables": tables, "zeros": [], "unread": [], "unanswered": []}


def _written(choices: BuildOptions, results: Sequence[RatingResult]) -> dict[str, Any]:
    from diaghoi.semantic.tables.ratings import write_ratings

    rows: dict[str, Any] = {"tables": [], "zeros": [], "unread": [], "unanswered": []}
    for rated in results:
        kind, raters = rated.question.kind, rated.raters
        file = choices.files[kind]
        ratings = rated.ratings(file.stem)
        write_ratings(file, ratings)
        pairs, source = int((ratings.first != ratings.second).sum()), ", ".join(raters)
        row = {"words": len(ratings.names), "pairs": pairs, "name": file.stem}
        rows["tables"].append(
            {"kind": kind, "file": str(file)} | row | {"source": f"rated by {source}"}
        )
        rows["zeros"] += [{"kind": kind, "first": raters[0], **row} for row in rated.zero_check]
        for key in ("unread", "unanswered"):
            named = ("rater", "a", "b", "why")
            rows[key] += [dict(zip(named, row, strict=False)) for row in getattr(rated, key)]
    return rows


def _present(choices: BuildOptions, result: Mapping[str, Any]) -> None:
    incomplete = {
        "unread": (
            "have no valid reply, so the rater in brackets gave no score; --ask-again asks again"
        ),
        "unanswered": "had no reply; run the same command again to retry them",
    }
    notes = []
    for key, what in incomplete.items():
        rows = [f"{row['a']} and {row['b']} ({row['rater']})" for row in result[key]]
        if rows:
            notes.append(f"{len(rows)} pairs {what}: {some_of(rows)}")

    def show() -> None:
        for table in result["tables"]:
            typer.echo(
                f"{table['file']}: {table['words']:,} words, {table['pairs']:,} pairs above 0; "
                f"{table['source']}"
            )
        for row in result["zeros"]:
            typer.echo(
                f"{row['kind']}s: of {row['pairs']:,} pairs that {row['first']} rates 0, "
                f"{row['rater']} rates {row['above']:,} above 0 ({percent(row['share'])} %)"
            )

    choices.output.deliver(outputs.as_json(result), show, notes)
