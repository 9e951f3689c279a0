"""The program that gets better: `program` is any dspy.Module; a function build() that returns one will do as well.

Leave the model out (no dspy.configure): Skynet sets it, meters it, and sets DSPy's caches aside.
"""

import dspy


class PlainChat(dspy.Adapter):
    """Asks in plain turns, for small models that do not write DSPy's field markers. With a larger model remove it."""

    def format(self, signature, demos, inputs):
        (given,), (wanted,) = signature.input_fields, signature.output_fields
        turns = [{"role": "system", "content": signature.instructions}]
        for demo in demos:
            turns += [{"role": "user", "content": demo[given]}, {"role": "assistant", "content": demo[wanted]}]
        return [*turns, {"role": "user", "content": inputs[given]}]

    def parse(self, signature, completion):
        return {name: completion.strip() for name in signature.output_fields}


class Sort(dspy.Module):
    def __init__(self):
        super().__init__()
        self.judge = dspy.Predict(dspy.Signature("review -> label", "Say whether the customer review is good or bad."))

    def forward(self, review):
        with dspy.context(adapter=PlainChat()):
            return self.judge(review=review)


program = Sort()
