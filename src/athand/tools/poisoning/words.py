"""Groups of words that rules of poisoning share, as regular expressions over normalised text."""


def one_of(words: str) -> str:
    """An alternative of words that are separated by spaces."""
    return f"(?:{'|'.join(words.split())})"


FEW = r"(?:[\w'-]{1,30} ){0,4}?"  # words in between
NEAR, FAR = r"[^.!?]{0,40}?", r"[^!?]{0,80}?"
PERSON = one_of("user human operator customer person") + "s?"
SEND = one_of("send post upload forward transmit submit leak ship copy mirror relay deliver e-?mail")
SENDS = rf"(?:{SEND}s?|{one_of('sending posting uploading forwarding transmitting copying relaying')})"
TAKE = one_of("read open cat load fetch get include attach collect dump copy pass provide extract steal harvest access")
MODEL = one_of("ai llm assistant agent model chatbot") + "s?"
TOOL_NAME = r"[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,8}"  # as programmers write it, which no plain word is
