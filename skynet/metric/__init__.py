"""The `score()` side: loading metric.py, its contract, the reward, and the helpers that user code imports."""
