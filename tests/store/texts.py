"""Texts to compare engines with: conversations, tools, and questions about both. Made, not found; always the same."""

import random

PEOPLE = "Mira Jonas Priya Tomas Lena Carlos Aiko Noor Felix Greta".split()
ACTIVITIES = (
    "went hiking|painted a mural|baked sourdough bread|fixed the old bicycle|joined a choir|planted tomatoes"
    "|ran a marathon|adopted a dog|learned to weld|visited the aquarium|wrote a short story|repaired the roof"
    "|played chess|started therapy|quit the law firm|opened a bakery|taught a pottery class|crashed the drone"
    "|met the mayor|sold the motorbike"
).split("|")
PLACES = "Lisbon|the harbour|grandmother's farm|the lake cabin|Kyoto|the community centre|Oslo|the new office".split(
    "|"
)
TIMES = "last Friday|in May|two weeks ago|on my birthday|before the storm|during the holidays|at dawn|yesterday".split(
    "|"
)
FEELINGS = (
    "exhausted but happy|nervous|proud|grateful|a bit lonely|inspired|relieved|curious about what comes next".split("|")
)
TURNS = (
    "Hey {other}! I {activity} {time} with {third} and felt {feeling}.",
    "That sounds great, {other}. We should go to {place} together, {third} would love it.",
    "{other}, did I tell you that {third} {activity} in {place}?",
    "Honestly I was {feeling} when we {activity}; {place} was crowded {time}.",
    "My sister {activity} {time}. She said that {place} changed her life!",
    "No way! I also {activity} once, it was {time}, somewhere near {place}.",
    "I keep thinking about {place}. {third} is {feeling} about moving there.",
)
QUESTIONS = (
    "When did {name} say that someone {activity}?",
    "Who was {feeling}?",
    "What does {name} think of {place}?",
    "Where was {other} {time}?",
    "Has {name} ever {activity} in {place}?",
)
VERBS = "Summarizes|Translates|Schedules|Compares|Downloads|Recommends|Validates|Converts|Monitors|Generates".split("|")
THINGS = (
    "PDF documents|train connections|weather forecasts|stock prices|recipes|job listings|SQL queries|song lyrics|images"
    "|calendar events|legal contracts|flight deals|medical papers|QR codes|podcast episodes|real estate offers"
).split("|")
EXTRAS = (
    "with citations|in forty languages|for small companies|from a single link|without an account|in real time".split(
        "|"
    )
)
REQUESTS = (
    "I need help with {thing}, ideally {extra}. Can you find something that {verb} them?",
    "Is there a tool for {thing}?",
    "Please {verb} these {thing} for me, I want it done {extra} and I would like to understand the results properly.",
)
SESSIONS, TURNS_EACH, TOOLS = 8, 15, 160


def memories():
    """Arguments of `add`: four conversations in sessions, and tools in a project of their own."""
    chance = random.Random(4)
    for number in range(4):
        pair = chance.sample(PEOPLE, 2)
        for turn in range(SESSIONS * TURNS_EACH):
            yield {
                "content": _said(chance, TURNS, other=pair[turn % 2]),
                "id": f"talk{number}-{turn:03}",
                "project": f"talk{number}",
                "session": f"talk{number}-{turn // TURNS_EACH}",
                "author": pair[1 - turn % 2],
            }
    for number in range(TOOLS):
        verb, thing, extra = (chance.choice(words) for words in (VERBS, THINGS, EXTRAS))
        text = f"{thing.title().replace(' ', '')}{verb[:-1]}: {verb} {thing} {extra}, number {number}."
        yield {"content": text, "id": f"tool-{number:03}", "project": "tools"}


def questions(count):
    """Questions with the project they are about; None is all of them."""
    chance = random.Random(5)
    for number in range(count):
        if number % 2:
            yield _said(chance, QUESTIONS), chance.choice(["talk0", "talk1", "talk2", "talk3", None])
        else:
            asked = chance.choice(REQUESTS)
            verb, thing, extra = (chance.choice(words) for words in (VERBS, THINGS, EXTRAS))
            yield asked.format(verb=verb.lower()[:-1], thing=thing, extra=extra), chance.choice(["tools", None])


def _said(chance, templates, **given):
    names = dict(zip(("name", "other", "third"), chance.sample(PEOPLE, 3), strict=True)) | given
    words = {"activity": ACTIVITIES, "place": PLACES, "time": TIMES, "feeling": FEELINGS}
    return chance.choice(templates).format(**names, **{name: chance.choice(each) for name, each in words.items()})
