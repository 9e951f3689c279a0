TEAMS = ("billing", "shipping", "technical")


def score(input, output, expected=None):
    team = expected["team"]
    reply = output.strip().lower().rstrip(".")
    if reply == team:
        return 1.0, {"feedback": f"Right: {team}."}
    if reply in TEAMS:
        return 0.0, {"feedback": f"Wrong team: the reply is {reply}, this message belongs to {team}."}
    return 0.0, {"feedback": f"The reply must be one team's name, here {team!r}, and is {output!r}."}
