from skynet import reward

REWARD_SPEC = {
    "weights": {"accuracy": 0.5, "speed": 0.5, "cost": 0},
    "accuracy": {},
    "speed": {"reference": 20},  # milliseconds: a run that takes as long gets half of the speed part
}


def score(input, output, expected=None):
    want = expected["length"]
    if output == want:
        return reward(REWARD_SPEC, 1.0, f"Right: {want} characters.")
    return reward(REWARD_SPEC, 0.0, f"The longest passage has {want} characters, the code found {output!r}.")
