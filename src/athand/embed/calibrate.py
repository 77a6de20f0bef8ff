"""Measures the calibration of a model, where its card has none."""

import logging

import numpy as np

from athand.embed.embedder import Embedder
from athand.types import Calibration, Matrix

log = logging.getLogger("athand")

PAIRS = (
    ("how do I send an email with an attachment", "send_message: Mails text and files to the given recipients."),
    ("what is the weather tomorrow", "get_forecast: Returns temperature, wind and rain of the coming days."),
    ("which database did we choose", "Decision: the service stores its data in PostgreSQL, for its backups."),
    ("does Maria eat meat", "Maria is vegetarian and allergic to peanuts."),
    ("how to undo the last commit", "git reset --soft HEAD~1 takes back the newest commit and keeps its changes."),
    ("when is the release", "Version 2.4 ships on the first Monday of October."),
    ("rotate the API key", "Credentials are renewed every 90 days: create a new token, deploy it, revoke the old one."),
    ("the app crashes at start", "Segmentation fault on launch when the configuration is empty; fixed."),
    ("translate text to French", "translate: Turns a sentence of one language into another."),
    ("book a table for dinner", "reserve_restaurant: Makes a booking for a number of guests at a date and time."),
    ("how much memory does the cache use", "The in-memory cache is limited to 512 MB; old entries go first."),
    ("log in to the customer portal", "Open the sign-in page, enter user name and password, press Continue."),
    ("export the report as a spreadsheet", "On the Reports screen choose Download, then Excel."),
    ("what does the user do for a living", "The user works as a nurse in a children's hospital."),
    ("resize an image", "scale_picture: Changes width and height of a PNG or JPEG file."),
    ("why was the deployment rolled back", "The rollout was reverted because error rates rose to 8 percent."),
    ("how to run the tests", "Type make test; it creates a virtual environment and starts pytest."),
    ("create a calendar event", "add_appointment: Puts a meeting into the calendar and invites the participants."),
    ("refund policy", "Customers get their money back within 30 days if the goods are unused."),
    ("find a file by name", "search_files: Lists paths below a directory whose name matches a pattern."),
    ("where did they go on holiday", "Last summer the family spent two weeks hiking in Norway."),
    ("change the language of the interface", "Settings, General, Display language lets you pick from 14 translations."),
    ("query timeout in production", "Slow statements are cancelled after 30 seconds; add an index."),
    ("convert currency", "exchange_rate: Gives the amount in euros for a sum in dollars at today's rate."),
)
QUESTIONS = tuple(question for question, _ in PAIRS)
PASSAGES = tuple(passage for _, passage in PAIRS)

SMALLEST_GAP = 0.05
_DEFAULT = Calibration(noise=0.2, relevant=0.6)


def measure_calibration(embedder: Embedder) -> Calibration:
    """The calibration of a model, measured on pairs of question and passage."""
    questions = np.stack([embedder.embed_query(question) for question in QUESTIONS])
    return calibrate_vectors(questions, embedder.embed_passages(PASSAGES), embedder.model_id)


def calibrate_vectors(questions: Matrix, passages: Matrix, model_id: str) -> Calibration:
    """Noise is the mean cosine of unrelated pairs, relevant the median cosine of matching pairs."""
    cosines = questions @ passages.T
    matched = np.eye(len(cosines), dtype=bool)
    noise, relevant = float(cosines[~matched].mean()), float(np.median(cosines[matched]))
    if relevant - noise < SMALLEST_GAP:
        log.warning("%s hardly tells an answer from other texts (cosine %.2f, %.2f).", model_id, relevant, noise)
        return _DEFAULT
    return Calibration(noise=noise, relevant=relevant)
