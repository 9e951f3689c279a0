def run(input):
    """Return how many characters the longest passage has that stands in both texts."""
    first, second = input["first"], input["second"]
    longest = 0
    for start in range(len(first)):
        for end in range(start + 1, len(first) + 1):
            if first[start:end] in second and end - start > longest:
                longest = end - start
    return longest
