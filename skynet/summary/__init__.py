"""Pure statistics over scores: what a verdict and a report say, computed without files, models or workers."""
