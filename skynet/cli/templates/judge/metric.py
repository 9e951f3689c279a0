from skynet import llm, unmeasured, verdict

JUDGE = """You grade an answer from a help page.
Say in one or two sentences what is missing, wrong or off the point; do not rewrite the answer.
End with a line that holds one word: PASS when the answer says all that it must say, else FAIL."""


def score(input, output, expected=None):
    reply = llm(
        JUDGE,
        input=f"Question: {input['question']}\n\nAnswer: {output}\n\nThe answer must say: {expected['must_say']}",
    )
    passed = verdict(reply)
    if passed is None:
        return unmeasured(f"The judge gave no clear verdict: {reply}")
    return (1.0 if passed else 0.0), {"feedback": reply}
