"""How a version is run on a case: a chat with the task model, or the user's `run(artifact, input)` in a worker."""
