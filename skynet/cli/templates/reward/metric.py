from skynet import reward

REWARD_SPEC = {
    "weights": {"accuracy": 0.7, "speed": 0.2, "cost": 0.1},
    "accuracy": {},
    "speed": {"reference": 20},  # milliseconds: a run that takes as long gets half of the speed part
    "cost": {"reference": 0.001},  # dollars: nothing is spent here until run.py calls a model
}


def score(input, output, expected=None):
    want = expected["sku"]
    if output == want:
        return reward(REWARD_SPEC, 1.0, f"Correct: {want}.")
    return reward(REWARD_SPEC, 0.0, f"For {input['typed']!r} expected {want!r}, got {output!r}.")
