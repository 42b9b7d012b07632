"""Multiple-choice evaluation of models that answer questions and of detectors, on one yardstick.

The benchmark of paper 002: a question about an image has right and wrong options, and any number of
them may be picked.
"""

from diaghoi.choice.answers import Answer, Answers, read_answers
from diaghoi.choice.detect import Selection, detected_answers
from diaghoi.choice.evaluation import ChoiceEvaluation, evaluate_answers
from diaghoi.choice.people import read_people
from diaghoi.choice.questions import Question, Questions, read_questions
from diaghoi.choice.replies import Reading, read_reply

__all__ = [
    "Answer",
    "Answers",
    "ChoiceEvaluation",
    "Question",
    "Questions",
    "Reading",
    "Selection",
    "detected_answers",
    "evaluate_answers",
    "read_answers",
    "read_people",
    "read_questions",
    "read_reply",
]
