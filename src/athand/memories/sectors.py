"""The sector of a memory: by its type where one is given, else by cue phrases in its text."""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

# In the order that breaks ties: a feeling or a lesson is rarer than a fact, so its cues say more.
SECTORS = ("emotional", "reflective", "episodic", "procedural", "semantic")
TIERS = ("session", "project", "global")

SECTOR_OF_TYPE: Mapping[str, str] = MappingProxyType(
    {
        "preference": "emotional",
        "codebase": "semantic",
        "decision": "reflective",
        "gotcha": "procedural",
        "pattern": "procedural",
        "turn_summary": "reflective",
        "task_completion": "episodic",
    }
)
MEMORY_TYPES = tuple(SECTOR_OF_TYPE)

# The start of a long text is enough; counting cues in all of it only takes time.
_READ_CHARACTERS = 10_000

_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_SENTENCE_START = r"(?:^|(?<=[.!?:;]\s)|(?<=\n))"
# "is called" and "are stored" tell what things are, not what was done.
_DONE = r"(?<!is\s)(?<!are\s)(?<!be\s)"
# What was thought or current is no event, even in the past tense.
_NO_EVENT = r"(?!(?:agreed|concluded|considered|decided|evaluated|learned|liked|opted|picked|preferred|reali[sz]ed)\b)"
# A sentence that begins "<word> the" is a command, unless the word is one of these, or a past or a plural.
_NOT_A_VERB = """
    about|after|all|also|an|and|are|as|at|because|before|both|bought|broke|built|but|by|chose|during|even|for|found|from
    |gave|got|had|half|held|if|in|into|is|led|like|lost|made|met|most|not|of|on|only|or|over|per|ran|saw|sent|since|so
    |spent|than|that|this|through|to|took|under|until|via|was|what|when|where|while|who|why|with|won|wrote
"""
_VERB = rf"(?!(?:{''.join(_NOT_A_VERB.split())})\b)[a-z]{{2,}}(?<!ed)(?<!ing)(?<!s)"
_COMMAND = rf"{_SENTENCE_START}{_VERB} (?:the|an?|your|it|them|all)"

_NAME = "(?-i:[A-Z][a-z]+)"

# Each line holds regular expressions between bars; a space stands for any white space.
_CUES = {
    "emotional": r"""
        likes|liked|(?:i|we|you|they) (?:really )?like|(?:don't|doesn't|didn't|not|would|\w+'d) like
        prefers?|preferred|preferences?|preferring|(?:would|\w+'d) rather|rather (?:have|not|use|see)|doesn't mind
        loves?|loved|hates?|hated|enjoys?|enjoyed|dislikes?|disliked|adores?|adored|appreciates?|appreciated|admires?
        favou?rites?|fond of|keen on|a fan of|cares about|matters (?:most|to)|looking forward|passionate|trusts
        hopes|hoping|wishes|values|misses (?:his|her|their|my|our|the)|missed (?:his|her|their|my|our)
        happy|happier|unhappy|glad|pleased|delighted|thrilled|excited|proud|grateful|thankful|satisfied|impressed
        relieved|surprised|comfortable|uncomfortable|confident|uneasy|joy|fun|painful|exhausting|exhausted|boring|bored
        sad|angry|mad at|furious|annoyed|annoying|annoys|frustrat(?:ed|ing|ion|es)|irritat(?:ed|ing|es)|upset
        worried|worries|anxious|nervous|afraid|scared|stressed|stressful|overwhelmed|disappointed|embarrassed
        dread(?:s|ed)?|terrified|grumpy|picky|patience|impatient|bother(?:s|ed)|pet peeve|allergic to|over the moon
        jealous|ashamed|hopeful|reluctant|hesitant|sceptical|skeptical|homesick|heartbroken|cried|laughed|a must for
        tired of|sick of|fed up|(?:can't|cannot|can not) (?:stand|bear|wait)|feels?|current|feelings?|mood|lonely
        wants|(?:would|\w+'d) love|insists on
        (?:asks?|asked|expects?|insists?)(?: \w+){0,4} (?:always|never)
    """,
    "reflective": r"""
        decided|decides?|deciding|decisions?|chose|chosen|opted|settled on|agreed|going with|went with|ruled out
        rejected|picked|reali[sz]ed?|reali[sz]ing|reali[sz]ation|learned|learnt|lessons?|taught (?:me|us)|paid off
        takeaways?|(?:in|with) hindsight|in retrospect|retrospective|looking back|reflected|reflecting|reflections?
        insights?|trade-?offs?|trade offs?|concluded|conclusions?|turned out|turns out|in the end|findings?
        because|reasons?|rationale|therefore|as a result|instead of|rather than|in favou?r of|favou?rs
        given that|outweighs?|overkill|ended up|away from|in my (?:opinion|view)|the more|so we|seems?
        apparently|better to|matters more
        should(?:n't)? have|could have|would have been|worth|next time|from now on|mistakes?
        was (?:wrong|right)|(?:that's|that is|which is) why|why we|root causes?
        (?:than|as) expected|showed (?:how|that|us)|surprisingly
        (?:i|we) (?:think|thought|believe|suspect|guess|assume)|makes sense|in summary|summary|summari[sz]ed|overall
        noticed that|understood|figured out|discovered|found out|underestimated|overestimated|pros and cons|dead ends?
        downsides?|upsides?|compared (?:to|with)|comparing|considered|weighed|explored|evaluated|assumptions?
        (?:better|best|right|wrong|good|bad|simplest) (?:fit|choice|option|approach|idea|way|call)|good enough
        acceptable|justif(?:y|ies|ied)|too (?:complex|complicated|slow|expensive|much|many|early|late|risky)
        what (?:worked|didn't)
    """,
    "episodic": rf"""
        yesterday|today|tonight|tomorrow|earlier|recently|ago|so far
        (?:this|last|next|the) (?:morning|afternoon|evening)
        (?:this|last|next|previous) (?:night|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)
        (?:(?:on|last|next|this|until|since) )?{_WEEKDAY}|(?:over|during|at|on) the weekend|at (?:noon|midnight|dawn)
        \d{{4}}-\d\d-\d\d|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}|\d{{1,2}}(?::\d\d)? ?(?:am|pm)|(?:in|since) (?:19|20)\d\d
        (?:in )?{_MONTH} \d{{1,4}}|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}|in {_MONTH}|during|commit [0-9a-f]{{7,40}}
        (?:pr|pull request|issue|ticket) #?\d+|(?:was|were|got|been) \w+(?:ed|en)|{_SENTENCE_START}{_NO_EVENT}\w+ed
        (?:i|he|she|we|they|user|team|{_NAME}) {_NO_EVENT}\w+ed (?:the|an?|my|his|her|our|their|about|that)
        {_DONE}(?:met|happened|occurred|fixed|deployed|shipped|finished|completed|released|merged|launched|resolved)
        {_DONE}(?:closed|migrated|upgraded|implemented|added|removed|updated|refactored|renamed|published|reported)
        {_DONE}(?:started|ended|began|broke|crashed|failed|went|visited|travelled|traveled|attended|joined|came|gave)
        {_DONE}(?:called|told|said|bought|moved|celebrated|won|ran|watched|saw|tried|built|wrote|created|arrived|got)
        {_DONE}(?:showed|spent|opened|sent|received|lost|turned|passed|switched|rolled (?:out|back)|signed up|took)
        had (?:lunch|dinner|breakfast|coffee|an?)|(?:first|second|third) time|incident
    """,
    "procedural": rf"""
        how to|how do (?:i|we|you)|{_SENTENCE_START}to \w+(?: [^\s,]+){{0,5}},|in order to|so that|{_COMMAND}
        run|rerun|re-run|{_SENTENCE_START}first|first,|then|next,|finally|afterwards|beforehand|steps?|step \d+
        make sure|be sure|ensure|must|always|never (?!been|being|was|had)|(?:need|needs|have|has) to|needs? an?
        should(?! have)|remember to|(?:don't|do not) forget|in (?:this|that) order|by hand|manually
        install|reinstall|configure|execute|click|(?:before|after|when|if|once|until) you|try again|otherwise
        (?:before|after|by|without|when) \w+ing|you (?:can|must|should|need|have)|use \S+(?: \S+)? (?:to|for|when)
        instructions?|procedures?|workflow|checklist|recipe|guide|workaround|avoid|be careful|watch out|beware|gotchas?
        {_SENTENCE_START}(?:if|when|whenever|before|after|for)(?: [^\s,:]+){{1,8}}[,:]
        {_SENTENCE_START}(?:use|open|create|set|add|start|stop|restart|copy|delete|remove|push|pull|build|check|call)
        {_SENTENCE_START}(?:put|pass|wrap|keep|clear|apply|edit|press|select|choose|enable|disable|turn|mix|let|do)
        {_SENTENCE_START}(?:don't|do not|write|commit|clone|export|import|update|upgrade|wait|test|follow|go to)
    """,
    "semantic": r"""
        (?:is|are) (?:an?|the|one of|in|on|at|part of|made of|based on|called|named|responsible for)
        (?:is|are) \w+(?:ed|en|pt) (?:in|at|on|by|with|as|to|under|from|for|using|into|via)
        (?:defined|located|stored|found|described|configured|documented|declared) (?:in|at|on|under|by|as)
        lives? (?:in|at|under)|consists? of|contains?|includes?|comprises|has|have (?:an?|the|two|three|one)|holds
        uses|depends? on|requires|supports?|accepts?|returns?|implements|inherits|extends|exposes|provides|handles
        belongs? to|means|stands for|refers to|known as|equals|represents|runs on|listens on|points to|maps to
        works (?:as|at|for|with)|owns|versions?|the (?:api|default|schema|class|function|module|endpoint|table|type)
        port \d+|written in|built (?:with|on)|capital of|kind of|type of|at most|at least|up to|per|limit
    """,
}


def classify(text: str) -> str:
    """The sector with the most cues in the text; semantic if there are none."""
    read = text[:_READ_CHARACTERS].replace("\u2019", "'")
    counts = {sector: _count_cues(sector, read) for sector in SECTORS}
    best = max(SECTORS, key=counts.__getitem__)
    return best if counts[best] else "semantic"


def _count_cues(sector: str, text: str) -> int:
    # Only of ASCII is it certain that lower case finds the same, if what is found as a name is written as one.
    if text.isascii():
        cues, lower = _compile_lower_cues(sector), text.lower()
        if not cues.groups:
            return len(cues.findall(lower))
        names = [found.span("name") for found in cues.finditer(lower)]
        if all(start < 0 or (text[start].isupper() and text[start + 1 : end].islower()) for start, end in names):
            return len(names)
    return len(_compile_cues(sector).findall(text))


def _compile_patterns(cues: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """One regular expression for all cues of a sector, as whole words."""
    alternatives = "|".join(line.strip() for line in cues.strip().splitlines()).replace(" ", r"\s+")
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", flags)


@cache
def _compile_cues(sector: str) -> re.Pattern[str]:
    """The cues of a sector, compiled when a memory is first classified: a search needs none."""
    return _compile_patterns(_CUES[sector])


@cache
def _compile_lower_cues(sector: str) -> re.Pattern[str]:
    """The cues in lower case, as they are written: they are found in a third of the time."""
    return _compile_patterns(_CUES[sector].replace(_NAME, "(?P<name>[a-z]+)"), re.NOFLAG)
