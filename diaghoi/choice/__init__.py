"""Multiple-choice evaluation of vision-language models and detectors with the same metrics.

The benchmark is CrossHOI-Bench: a question about an image has right and wrong options, and a model
may pick any number of them.
"""

from diaghoi.choice.answers import Answer, Answers, read_answers
from diaghoi.choice.detect import Selection, detected_answers
from diaghoi.choice.evaluation import ChoiceEvaluation, evaluate_answers
from diaghoi.choice.people import read_people
from diaghoi.choice.questions import Question, Questions, read_questions
from diaghoi.choice.replies import ParsedReply, read_reply

__all__ = [
    "Answer",
    "Answers",
    "ChoiceEvaluation",
    "ParsedReply",
    "Question",
    "Questions",
    "Selection",
    "detected_answers",
    "evaluate_answers",
    "read_answers",
    "read_people",
    "read_questions",
    "read_reply",
]
