UNITS = {"s": 1, "m": 60, "h": 3600}


def run(input):
    """Return the duration in seconds."""
    seconds = 0
    for word in input["text"].split():
        if word[-1] in UNITS and word[:-1].isdigit():
            seconds = int(word[:-1]) * UNITS[word[-1]]
    return seconds
