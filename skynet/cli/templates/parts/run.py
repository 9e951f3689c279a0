"""Two steps with the task model: `triage` writes a note on the message, `reply` answers it with the note at hand."""

from skynet import llm


def run(artifact, input):
    message = input["message"]
    note = llm(artifact["triage"], input=message)
    prompt = artifact["reply"].replace("{{ note }}", note).replace("{{ message }}", message)
    return llm(messages=[{"role": "user", "content": prompt}])
